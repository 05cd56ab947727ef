/** Who is there now, of many who come and go. */

export interface ConnectionSet<T> {
  /** Adds one; the answer takes it off again, and is to be called once. */
  add(one: T): () => void;
  all(): readonly T[];
  size(): number;
}

interface Place<T> {
  readonly one: T;
  index: number;
}

/**
 * Not a `Set`: one that changes all the time goes from table to table, and V8 links each that it has left to the next. As soon as
 * one of them is old, all later ones are kept, with whatever was in them, until the old generation is collected.
 */
export function createConnectionSet<T>(): ConnectionSet<T> {
  const places: Place<T>[] = [];
  return {
    add(one) {
      const place = { one, index: places.length };
      places.push(place);
      return () => {
        const last = places.pop();
        if (last === undefined || last === place) return;
        last.index = place.index;
        places[place.index] = last;
      };
    },
    all: () => places.map(({ one }) => one),
    size: () => places.length,
  };
}
