/** What flows cost, in microseconds: from `npm run bench -- costs` at 64 and at 1 request at once. */
import type { Costs } from './simulate.ts';

/** One flow at two degrees of concurrency, as `bench -- costs` reports it. */
export interface Observation {
  /** Processor time of our process and of PostgreSQL for one flow. */
  readonly own: number;
  readonly database: number;
  /** Batches for one flow. */
  readonly batches: number;
}

/**
 * Many requests at once share batches, few do not: the difference is the cost of batches.
 * @param many with many requests at once @param few with few
 */
export function costsOf(many: Observation, few: Observation, trips: Costs['trips']): Costs {
  const batches = Math.max(few.batches - many.batches, 0.01);
  const ownBatch = Math.max(few.own - many.own, 0) / batches;
  const batch = Math.max(few.database - many.database, 0) / batches;
  const statements = trips.reduce((sum, trip) => sum + trip.statements, 0);
  return {
    flow: many.own - many.batches * ownBatch,
    ownBatch,
    batch,
    statement: (many.database - many.batches * batch) / statements,
    trips,
  };
}

/** Client and grant, then the rotation. */
export const refreshTrips: Costs['trips'] = [
  { statements: 2, writes: false },
  { statements: 1, writes: true },
];

/** Of 23 November 2026, on cores of an AMD EPYC that others used as well, as in NOTES.md: a quiet machine takes about half. */
export const measuredCosts: Readonly<Record<string, Costs>> = {
  refresh: costsOf(
    { own: 204, database: 72, batches: 0.12 },
    { own: 1295, database: 589, batches: 3 },
    refreshTrips,
  ),
  introspection: costsOf({ own: 63, database: 10, batches: 0.02 }, { own: 338, database: 102, batches: 1 }, [
    { statements: 1, writes: false },
  ]),
};
