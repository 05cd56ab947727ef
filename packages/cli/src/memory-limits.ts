/** Limits memory growth: by default V8 uses far more heap than a long-running server needs. */
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Percent by which the old generation may outgrow live data before a collection; V8's default is 300. */
const OLD_GROWTH = 20;
/** Bytes of the young generation, both semispaces. V8's default is 32 MiB from the start. */
const YOUNG = 16 * 2 ** 20;
/** Milliseconds after which startup counts as finished. */
const STARTED = 1000;

/** V8 options set by the operator take precedence. */
const OWN_SIZES = /--(?:max|min)[-_](?:semi[-_]space|old[-_]space|heap)[-_]size|--heap[-_]growing[-_]percent/;

/**
 * Keeps the old generation close to the live data, and the young generation small until startup has finished; then it grows to
 * a server's working size. V8 reads both flags at each collection, so they can be set at run time, unlike sizes.
 */
export function limitMemoryGrowth(environment: NodeJS.ProcessEnv, given: readonly string[]): void {
  if (OWN_SIZES.test(`${environment['NODE_OPTIONS'] ?? ''} ${given.join(' ')}`)) return;
  setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH}`);
  growYoung(1);
  setTimeout(() => {
    growYoung(2);
    // V8 shrinks it while the server is idle, so each collection reconsiders growth. Idle servers are not woken up.
    const collections = new PerformanceObserver(() => growYoung(youngSize() < YOUNG ? 2 : 1));
    collections.observe({ entryTypes: ['gc'] });
  }, STARTED).unref();
}

function growYoung(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? YOUNG;
}
