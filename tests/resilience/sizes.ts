/** How much is tried: a part with every run of the tests, all of it by `npm run resilience`. */

const isWhole = process.env['RESILIENCE'] === 'whole';

export const sizes: { readonly kills: number; readonly rounds: number } = isWhole
  ? { kills: 30, rounds: 200 }
  : { kills: 4, rounds: 10 };

/** Milliseconds that a test may take. */
export const TIMEOUT: number = isWhole ? 600_000 : 180_000;
