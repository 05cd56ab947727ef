/** An approximate LRU cache with limits on entries and characters. */

export interface LruCacheLimits {
  /** Entries that are always retained, counted from the last use; at most twice as many are. 10,000 by default. */
  readonly entries?: number;
  /**
   * For long keys, such as tokens: the total length of all keys, likewise. Only the last characters are hashed, in which tokens
   * differ; then the whole key is compared. Of keys with the same ending, only one is retained.
   */
  readonly characters?: number;
}

/** A bounded cache that removes entries which were not used for long. */
export interface LruCache<Value> {
  get(key: string): Value | undefined;
  /** Setting a key again makes it the newest. */
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** The current number of entries; one that was set again may count twice. */
  readonly size: number;
}

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
}

const HASHED_CHARACTERS = 48;

/**
 * Creates a cache of two generations: new entries go to the young one; when it is full it becomes the old one, and the
 * previous old one is dropped. An entry found in the old one becomes young again. A hit costs one look-up, and nothing is
 * sorted. Evicting the first entry of a single map is slower: it is found behind the slots of all deleted entries, 7 µs
 * among 10,000.
 */
export function createLruCache<Value>({
  entries = 10_000,
  characters,
}: LruCacheLimits = {}): LruCache<Value> {
  let young = new Map<string, Entry<Value>>();
  let old = new Map<string, Entry<Value>>();
  let used = 0;
  const limit = characters ?? Number.POSITIVE_INFINITY;
  const hashed = (key: string): string => (characters === undefined ? key : key.slice(-HASHED_CHARACTERS));

  function add(index: string, entry: Entry<Value>): void {
    if (young.size >= entries || used + entry.key.length > limit) {
      old = young;
      young = new Map();
      used = 0;
    }
    // Without a limit on characters, no look-up of the replaced entry is needed.
    if (characters !== undefined) used += entry.key.length - (young.get(index)?.key.length ?? 0);
    young.set(index, entry);
  }

  return {
    set: (key, value) => add(hashed(key), { key, value }),
    get(key) {
      const index = hashed(key);
      const entry = young.get(index);
      if (entry !== undefined) return entry.key === key ? entry.value : undefined;
      const aged = old.get(index);
      if (aged?.key !== key) return undefined;
      add(index, aged);
      return aged.value;
    },
    delete(key) {
      const index = hashed(key);
      const entry = young.get(index);
      if (entry?.key === key) {
        young.delete(index);
        if (characters !== undefined) used -= key.length;
      }
      if (old.get(index)?.key === key) old.delete(index);
    },
    get size() {
      return young.size + old.size;
    },
  };
}
