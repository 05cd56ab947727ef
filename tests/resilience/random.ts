/** Chance that can be had again: a generator with a seed, which a failing test prints. */
import { randomInt } from 'node:crypto';

export interface Random {
  readonly seed: number;
  /** At least 0, less than 1. */
  next(): number;
}

/** The seed in `SEED`, to repeat a run. */
export function createRandom(seed: number = Number(process.env['SEED'] ?? randomInt(2 ** 31))): Random {
  let state = seed >>> 0;
  return {
    seed,
    /** @see mulberry32, by Tommy Ettinger */
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
