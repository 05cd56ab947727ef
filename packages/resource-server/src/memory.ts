/** A memory with a bound: keeps what was used lately, forgets the rest. */

/** How much is kept at most, twice: in the young generation and in the old one. */
export interface MemoryLimits {
  readonly entries: number;
  /** Characters of all keys together. */
  readonly characters: number;
}

export interface Memory<Value> {
  find(key: string): Value | undefined;
  keep(key: string, value: Value): void;
  forget(key: string): void;
  /** Entries held now, for those who watch the bound. */
  readonly size: number;
}

/**
 * Two generations: new entries go into the young one; when it is full it becomes the old one, and the old one is
 * dropped whole. An entry found in the old one is young again. A hit costs one look-up, and nothing is ever sorted.
 */
export function createMemory<Value>(limits: MemoryLimits): Memory<Value> {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  let characters = 0;

  function keep(key: string, value: Value): void {
    if (!young.has(key)) {
      if (young.size >= limits.entries || characters + key.length > limits.characters) {
        old = young;
        young = new Map();
        characters = 0;
      }
      characters += key.length;
      old.delete(key);
    }
    young.set(key, value);
  }

  return {
    keep,
    find(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const aged = old.get(key);
      if (aged !== undefined) keep(key, aged);
      return aged;
    },
    forget(key) {
      if (young.delete(key)) characters -= key.length;
      old.delete(key);
    },
    get size() {
      return young.size + old.size;
    },
  };
}
