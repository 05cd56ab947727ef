/** Keeps the process small: V8 takes whatever room it may, and a server that runs for months does not need it. */
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Percent by which the old generation may grow beyond what is alive before it is collected; V8 alone would allow 300. */
const OLD_GROWTH = 20;
/** Bytes of the young generation, both halves. V8 alone would take 32 MiB at once. */
const YOUNG = 16 * 2 ** 20;
/** Milliseconds after which a program is no longer starting. */
const STARTED = 1000;

/** Whoever gives V8 sizes of their own is left alone. */
const OWN_SIZES = /--(?:max|min)[-_](?:semi[-_]space|old[-_]space|heap)[-_]size|--heap[-_]growing[-_]percent/;

/**
 * Keeps the old generation close to what is alive, and the young one as small as it is until the program has started; then it
 * grows to what a server works with. Both flags are read at each collection, so they may be set while the program runs; sizes
 * themselves are fixed by then.
 */
export function limitMemoryGrowth(environment: NodeJS.ProcessEnv, given: readonly string[]): void {
  if (OWN_SIZES.test(`${environment['NODE_OPTIONS'] ?? ''} ${given.join(' ')}`)) return;
  setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH}`);
  growYoung(1);
  setTimeout(() => {
    growYoung(2);
    // It grows at collections only: a server without requests is not woken up.
    const collections = new PerformanceObserver(() => {
      if (youngSize() < YOUNG) return;
      growYoung(1);
      collections.disconnect();
    });
    collections.observe({ entryTypes: ['gc'] });
  }, STARTED).unref();
}

function growYoung(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? YOUNG;
}
