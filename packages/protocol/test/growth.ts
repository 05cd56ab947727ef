/** How the cost of a law grows with its input: a ratio, so that no test depends on how fast the machine is. */

const LARGE = 2 ** 20;
const FACTOR = 16;

/** Milliseconds of the fastest of several runs: the others waited for something else. */
function cost(run: (input: string) => unknown, input: string): number {
  const runs = Array.from({ length: 7 }, () => {
    const start = performance.now();
    run(input);
    return performance.now() - start;
  });
  return Math.min(...runs);
}

/** How much dearer an input of 1 MB is than one of a sixteenth; costs too small to measure count as equal. */
export function growthOf(run: (input: string) => unknown, inputOf: (length: number) => string): number {
  const [small, large] = [inputOf(LARGE / FACTOR), inputOf(LARGE)];
  return cost(run, large) / Math.max(cost(run, small), 0.05);
}

/** Linear growth is 16; quadratic would be 256. */
export const LINEAR = 64;
