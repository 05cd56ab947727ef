/** Batches CPU-heavy jobs: all jobs of one turn of the event loop run back to back. */

/** Jobs run per turn, so that a burst does not block the event loop for as long as all of it takes. */
const MAX_PER_TURN = 64;

/** Runs a job after the current turn, together with the others of that turn. Rejects with what the job throws. */
export type RunBatched = <Value>(job: () => Value) => Promise<Value>;

/**
 * Creates a queue that runs its jobs back to back. ECDSA needs 150 KB of curve tables: between other work they leave the
 * processor's cache, and a signature takes up to three times as long; in a batch all but the first find them there.
 * @param defer runs a function after the current turn of the event loop, such as `setImmediate`
 */
export function createBatch(defer: (run: () => void) => void): RunBatched {
  const queue: (() => void)[] = [];
  const runAll = (): void => {
    for (const run of queue.splice(0, MAX_PER_TURN)) run();
    if (queue.length > 0) defer(runAll);
  };
  return (job) =>
    new Promise((resolve, reject) => {
      if (queue.length === 0) defer(runAll);
      queue.push(() => {
        try {
          resolve(job());
        } catch (error) {
          reject(error);
        }
      });
    });
}
