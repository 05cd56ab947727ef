/** Batches statements of concurrent requests: each batch is one round trip, one transaction and one flush to the disk. */

export interface Batches<Item, Outcome> {
  /** @param order batches run their statements in this order, so that no two of them wait for each other's rows */
  run(item: Item, order?: string): Promise<Outcome>;
}

/** Maximum concurrent batches; later statements form the next one. */
const FEW = 2;
/** Maximum concurrent batches while others are slow, for example behind a row lock. */
const MANY = 8;
/** Milliseconds after which a batch counts as slow. */
const LONG = 20;
/** Maximum statements of a batch. */
const LARGEST = 100;
/** Milliseconds after which statements of a failed batch are rejected instead of retried. */
const TOO_LONG = 1_000;

interface Pending<Item, Outcome> {
  readonly item: Item;
  readonly order: string;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @param runAll runs statements in one transaction; when one fails, none has taken effect
 * @param failedAt the index of the statement that caused an error; `null` if none is known to have
 * @param beforeBatch may add statements
 */
export function createBatches<Item, Outcome>(
  runAll: (items: readonly Item[]) => Promise<readonly Outcome[]>,
  failedAt: (error: unknown) => number | null,
  beforeBatch: () => void = () => {},
): Batches<Item, Outcome> {
  let pending: Pending<Item, Outcome>[] = [];
  let underWay = 0;
  let latest = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || pending.length === 0) return;
    isScheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    isScheduled = false;
    const isSlow = performance.now() - latest > LONG;
    if (pending.length === 0 || underWay >= (isSlow ? MANY : FEW)) return;
    beforeBatch();
    const batch = pending.slice(0, LARGEST).sort(byOrder);
    pending = pending.slice(LARGEST);
    underWay += 1;
    latest = performance.now();
    void runBatch(batch).finally(() => {
      underWay -= 1;
      schedule();
    });
    schedule();
  }

  async function runBatch(batch: readonly Pending<Item, Outcome>[]): Promise<void> {
    const began = performance.now();
    try {
      const outcomes = await runAll(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome);
    } catch (error) {
      const failed = performance.now() - began > TOO_LONG ? null : failedAt(error);
      const others = failed === null ? [] : batch.filter((_, index) => index !== failed);
      for (const one of batch) if (!others.includes(one)) one.reject(error);
      pending = [...others, ...pending];
    }
  }

  return {
    run: (item, order = '') =>
      new Promise((resolve, reject) => {
        pending.push({ item, order, resolve, reject });
        schedule();
      }),
  };
}

function byOrder(
  { order: one }: { readonly order: string },
  { order: other }: { readonly order: string },
): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
