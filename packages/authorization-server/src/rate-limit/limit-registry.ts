/** Limits that outlive an authorization server: after a change of its resources, the next one continues to count. */

export interface LimitRegistry {
  /** The limit of a name, created once. Equal names have to be of one type. */
  keep<T>(name: string, create: () => T): T;
}

export function createLimitRegistry(): LimitRegistry {
  const limits = new Map<string, unknown>();
  return {
    keep<T>(name: string, create: () => T): T {
      if (!limits.has(name)) limits.set(name, create());
      return limits.get(name) as T;
    },
  };
}
