/** How much is tried: a part with every run of the tests, all of it by `npm run resilience`. */

const isWhole = process.env['RESILIENCE'] === 'whole';

interface Sizes {
  readonly kills: number;
  readonly rounds: number;
  /** Seconds for which PostgreSQL is stalled, each in a test of its own. */
  readonly stalls: readonly number[];
  /** Seconds from a lost response to the next attempt. */
  readonly restarts: readonly number[];
}

export const sizes: Sizes = isWhole
  ? { kills: 30, rounds: 200, stalls: [10, 40, 120], restarts: [1, 35, 300] }
  : { kills: 4, rounds: 10, stalls: [7], restarts: [1] };

/** Milliseconds that a test may take. */
export const TIMEOUT: number = isWhole ? 600_000 : 180_000;
