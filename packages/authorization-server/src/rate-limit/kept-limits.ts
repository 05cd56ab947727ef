/** Limits that outlive an authorization server: the next one, after a change of its resources, goes on counting. */

export interface KeptLimits {
  /** The limit of a name, created once. Equal names have to be of one type. */
  keep<T>(name: string, create: () => T): T;
}

export function createKeptLimits(): KeptLimits {
  const kept = new Map<string, unknown>();
  return {
    keep<T>(name: string, create: () => T): T {
      if (!kept.has(name)) kept.set(name, create());
      return kept.get(name) as T;
    },
  };
}
