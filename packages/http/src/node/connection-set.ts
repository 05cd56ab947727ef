/** A set of open connections whose members come and go constantly, without the memory cost of a `Set`. */

export interface ConnectionSet<T> {
  /** Adds a member. The returned function removes it and must be called once. */
  add(one: T): () => void;
  all(): readonly T[];
  size(): number;
}

interface Entry<T> {
  readonly one: T;
  index: number;
}

/**
 * An array with indexes instead of a `Set`: a `Set` that changes all the time is rehashed from table to table, and V8
 * links each abandoned table to the next. Once one of them reaches the old generation, all later ones are kept alive,
 * with their members, until the old generation is collected.
 */
export function createConnectionSet<T>(): ConnectionSet<T> {
  const entries: Entry<T>[] = [];
  return {
    add(one) {
      const entry = { one, index: entries.length };
      entries.push(entry);
      return () => {
        const last = entries.pop();
        if (last === undefined || last === entry) return;
        last.index = entry.index;
        entries[entry.index] = last;
      };
    },
    all: () => entries.map(({ one }) => one),
    size: () => entries.length,
  };
}
