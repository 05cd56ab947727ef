/** Locks within one process: whoever asks for a name waits for everybody who asked before. */
import type { Unlock } from './credential-store.ts';

/** Makes a `lock` function of its own set of names. */
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
