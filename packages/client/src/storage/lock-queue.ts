/** Locks within one process: each caller waits for all earlier callers of the same name. */
import type { Unlock } from './credential-store.ts';

/** Creates a `lock` function with its own set of names. */
export function createLockQueue(): (name: string) => Promise<Unlock> {
  const tails = new Map<string, Promise<void>>();

  return async function lock(name: string): Promise<Unlock> {
    const before = tails.get(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    tails.set(name, promise);
    await before;
    return async () => {
      if (tails.get(name) === promise) tails.delete(name);
      resolve();
    };
  };
}
