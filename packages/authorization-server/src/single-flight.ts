/** Single flight: concurrent calls with the same key share one execution. */
import { beforeAbort, temporarilyUnavailable } from '@portcullis/protocol';

/**
 * @param exchangeTimeout limit of one outbound exchange in milliseconds. A flight gets ten of them and ten seconds for the
 *   store, and then fails with 503: one that never ends must not block the next.
 */
export function createSingleFlight<T>(exchangeTimeout = 0) {
  const running = new Map<string, Promise<T>>();
  return {
    /** Runs the work, or joins the running work of the same key. */
    run(key: string, work: () => Promise<T>): Promise<T> {
      const known = running.get(key);
      if (known !== undefined) return known;
      const flight = withinLimit(work(), 10 * exchangeTimeout + 10_000).finally(() => running.delete(key));
      running.set(key, flight);
      return flight;
    },
  };
}

async function withinLimit<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const limit = AbortSignal.timeout(milliseconds);
  try {
    return await beforeAbort(work, limit);
  } catch (error) {
    throw error === limit.reason ? temporarilyUnavailable('shared work took too long') : error;
  }
}
