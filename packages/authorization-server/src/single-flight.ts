/** One flight at a time: whoever wants what is being fetched already waits for that. */

export interface SingleFlight<T> {
  /** Runs the work, or joins the work of the same name that is under way. */
  run(name: string, work: () => Promise<T>): Promise<T>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const underWay = new Map<string, Promise<T>>();
  return {
    run(name, work) {
      const known = underWay.get(name);
      if (known !== undefined) return known;
      const flight = work().finally(() => underWay.delete(name));
      underWay.set(name, flight);
      return flight;
    },
  };
}
