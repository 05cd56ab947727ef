/** Work that is repeated in the background. */

/**
 * Repeats work, one after the other, without delaying the end of the process. A failure is not reported: the next attempt follows.
 * @param interval milliseconds
 * @returns a function that stops it, after the work in progress
 */
export function repeat(interval: number, work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  const timer = setInterval(() => {
    current ??= work()
      .catch(() => {})
      .finally(() => {
        current = null;
      });
  }, interval).unref();
  return async () => {
    clearInterval(timer);
    await current;
  };
}
