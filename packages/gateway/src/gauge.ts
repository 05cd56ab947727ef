/** Counts what is in use by user or process, within limits. */

/** Counts slots by key, each key up to a limit, which may change. */
export function createGauge(limit: () => number) {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    /** Acquires slots. @returns an idempotent release function; `null` at the limit */
    take(key: string, amount = 1): (() => void) | null {
      const count = counts.get(key) ?? 0;
      if (count + amount > limit()) return null;
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
    /** Slots in use by a key. */
    used: (key: string): number => counts.get(key) ?? 0,
    get total(): number {
      return total;
    },
  };
}
