/** Limits how long a promise is awaited, so that it cannot block a request forever. */

/**
 * Returns the promise, or rejects after the deadline. Every caller has its own timer: some runtimes cancel what a
 * request started as soon as that request ends, including timers.
 */
export function withDeadline<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
