/** Single flight: concurrent calls with the same key share one execution. */

export interface SingleFlight<T> {
  /** Runs the work, or joins the running work of the same key. */
  run(key: string, work: () => Promise<T>): Promise<T>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const running = new Map<string, Promise<T>>();
  return {
    run(key, work) {
      const known = running.get(key);
      if (known !== undefined) return known;
      const flight = work().finally(() => running.delete(key));
      running.set(key, flight);
      return flight;
    },
  };
}
