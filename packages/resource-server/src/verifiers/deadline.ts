/** Waiting with a deadline: a promise that never comes must not hold a request for ever. */

/**
 * The promise, or an error when nothing has come of it in time. Whoever waits has a timer of its own: where a runtime
 * drops what a request has begun as soon as the request is over, nobody else's would ever go off.
 */
export function withDeadline<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came in ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
