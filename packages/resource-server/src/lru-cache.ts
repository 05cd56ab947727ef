/** A memory with a bound: keeps what was used lately, forgets the rest. */

/** How much is kept at most, twice: in the young generation and in the old one. */
export interface LruCacheLimits {
  readonly entries: number;
  /** Characters of all keys together. */
  readonly characters: number;
}

export interface LruCache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  /** Entries held now, for those who watch the bound. */
  readonly size: number;
}

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
}

/** Tokens differ in their last characters: those alone are hashed, and the whole is compared. */
const HASHED_CHARACTERS = 48;

/**
 * Two generations: new entries go into the young one; when it is full it becomes the old one, and the old one is
 * dropped whole. An entry found in the old one is young again. A hit costs one look-up, and nothing is ever sorted.
 * Of keys that end alike, one alone is kept.
 */
export function createLruCache<Value>(limits: LruCacheLimits): LruCache<Value> {
  let young = new Map<string, Entry<Value>>();
  let old = new Map<string, Entry<Value>>();
  let characters = 0;

  function add(hashed: string, entry: Entry<Value>): void {
    const replaced = young.get(hashed);
    if (replaced === undefined) makeRoom(entry.key.length);
    characters += entry.key.length - (replaced?.key.length ?? 0);
    young.set(hashed, entry);
    old.delete(hashed);
  }

  function makeRoom(wanted: number): void {
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
