/** Counts what is open at once, by key, up to a limit. */

export interface Gauge {
  /** Takes a place. @returns gives it back, once; `null` if all are taken */
  take(key: string): (() => void) | null;
  /** Places that a key has. */
  held(key: string): number;
  readonly total: number;
}

export function createGauge(limit: number): Gauge {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    take(key) {
      const count = counts.get(key) ?? 0;
      if (count >= limit) return null;
      counts.set(key, count + 1);
      total += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        total -= 1;
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      };
    },
    held: (key) => counts.get(key) ?? 0,
    get total() {
      return total;
    },
  };
}
