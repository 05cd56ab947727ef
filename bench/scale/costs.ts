/** What flows cost, in microseconds of processor time: measured by `bench/scale.ts --check` with 64 requests at once, and at half use. */
import type { Costs } from './simulate.ts';

/** One flow of one process at one degree of concurrency. */
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
export function costsOf(many: Observation, few: Observation, waits: Costs['waits']): Costs {
  const batches = few.batches - many.batches;
  const ownBatch = (few.own - many.own) / batches;
  const databaseBatch = (few.database - many.database) / batches;
  return {
    own: many.own - many.batches * ownBatch,
    ownBatch,
    database: many.database - many.batches * databaseBatch,
    databaseBatch,
    waits,
  };
}

export const waits = {
  /** The client and the grant, then the rotation. */
  refresh: ['read', 'write'],
  /** Session, consent, the code; the code again, the grant, and whether there are too many. */
  code: ['read', 'read', 'write', 'read', 'write', 'read'],
  /** Whether the grant is live. */
  call: ['read', 'backend'],
} as const satisfies Readonly<Record<string, Costs['waits']>>;

export type ScaledFlow = keyof typeof waits;

/** Of 29 November 2026, as in RESULTS.md, on cores that others used as well. */
const measured: Readonly<Record<ScaledFlow, readonly [many: Observation, few: Observation]>> = {
  refresh: [
    { own: 117, database: 56.4, batches: 0.105 },
    { own: 407, database: 259, batches: 1.65 },
  ],
  code: [
    { own: 265, database: 209, batches: 0.332 },
    { own: 1340, database: 984, batches: 5.57 },
  ],
  call: [
    { own: 136, database: 32.6, batches: 0.0546 },
    { own: 385, database: 107, batches: 0.876 },
  ],
};

export const scaledFlows = Object.keys(waits) as readonly ScaledFlow[];

export const measuredCosts: Readonly<Record<ScaledFlow, Costs>> = {
  refresh: costsOf(...measured.refresh, waits.refresh),
  code: costsOf(...measured.code, waits.code),
  call: costsOf(...measured.call, waits.call),
};
