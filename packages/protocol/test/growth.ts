/** How the cost of a function grows with its input: a ratio, so that no test depends on how fast the machine is. */
import { costHere } from '../../../tests/support/cost.ts';

const LARGE = 2 ** 20;
const FACTOR = 32;

/** Linear growth is 32, quadratic is 1024; what lies between is noise of a busy machine. */
export const LINEAR = 160;

/** Milliseconds of the cheapest of several runs: the others were compiled meanwhile. */
function cost(run: () => unknown): number {
  return Math.min(...Array.from({ length: 5 }, () => costHere(run)));
}

/** How much dearer 1 MB is than a thirty-second of it. Costs too small to measure count as equal. */
export function growthOf(run: (input: string) => unknown, inputOf: (length: number) => string): number {
  const [small, large] = [inputOf(LARGE / FACTOR), inputOf(LARGE)];
  // As often as both inputs are equally long: the clock of the system is too coarse for one run.
  const runSmall = () => {
    for (let runs = 0; runs < FACTOR; runs += 1) run(small);
  };
  const measure = () => cost(() => run(large)) / Math.max(cost(runSmall) / FACTOR, 0.05);
  const growth = measure();
  return growth < LINEAR ? growth : Math.min(growth, measure(), measure());
}
