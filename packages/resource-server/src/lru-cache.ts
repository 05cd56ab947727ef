/** An LRU cache with limits on entries and characters. */

/** The limits of each of the two generations. */
export interface LruCacheLimits {
  readonly entries: number;
  /** The total length of all keys. */
  readonly characters: number;
}

export interface BoundedLruCache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  /** The current number of entries. */
  readonly size: number;
}

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
}

/** Only the last characters are hashed, in which tokens differ; then the whole key is compared. */
const HASHED_CHARACTERS = 48;

/**
 * An LRU cache of two generations: new entries go to the young one; when it is full it becomes the old one, and the
 * previous old one is dropped. An entry found in the old one becomes young again. A hit costs one look-up, and
 * nothing is sorted. Of keys with the same ending, only one is kept.
 */
export function createBoundedLruCache<Value>(limits: LruCacheLimits): BoundedLruCache<Value> {
  let young = new Map<string, Entry<Value>>();
  let old = new Map<string, Entry<Value>>();
  let characters = 0;

  function add(hashed: string, entry: Entry<Value>): void {
    const replaced = young.get(hashed);
    if (replaced === undefined) evictFor(entry.key.length);
    characters += entry.key.length - (replaced?.key.length ?? 0);
    young.set(hashed, entry);
    old.delete(hashed);
  }

  function evictFor(wanted: number): void {
    if (young.size < limits.entries && characters + wanted <= limits.characters) return;
    old = young;
    young = new Map();
    characters = 0;
  }

  return {
    set: (key, value) => add(key.slice(-HASHED_CHARACTERS), { key, value }),
    get(key) {
      const hashed = key.slice(-HASHED_CHARACTERS);
      const entry = young.get(hashed);
      if (entry !== undefined) return entry.key === key ? entry.value : undefined;
      const aged = old.get(hashed);
      if (aged?.key !== key) return undefined;
      add(hashed, aged);
      return aged.value;
    },
    get size() {
      return young.size + old.size;
    },
  };
}
