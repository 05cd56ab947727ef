/** Counts what is taken at once, by key, up to a limit. */

export interface Gauge {
  /** Takes a place, or several. @returns gives them back, once; `null` if there are not so many */
  take(key: string, amount?: number): (() => void) | null;
  /** Places that a key has. */
  held(key: string): number;
  readonly total: number;
}

export function createGauge(limit: number): Gauge {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    take(key, amount = 1) {
      const count = counts.get(key) ?? 0;
      if (count + amount > limit) return null;
      counts.set(key, count + amount);
      total += amount;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        total -= amount;
        const left = (counts.get(key) ?? amount) - amount;
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
