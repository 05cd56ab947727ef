/** A document of another server, such as its metadata: fetched once at a time, and cached. */
import { createSingleFlight } from './single-flight.ts';
import { isAhead } from './wrong-clock.ts';

/** Seconds for which a document is cached. */
const MAX_AGE = 3600;

interface CachedDocumentOptions {
  /** Epoch seconds. */
  readonly clock: () => number;
  /** Of one exchange, in milliseconds. */
  readonly timeout: number;
  /** Whether the last document is used after this error. Default: after any. @param age of it, in seconds */
  readonly mayUseLast?: (error: unknown, age: number) => boolean;
}

/** While the other server is down, the last document stays in use: what it says rarely changes. */
export function createCachedDocument<T>(
  fetch: () => Promise<T>,
  { clock, timeout, mayUseLast = () => true }: CachedDocumentOptions,
): () => Promise<T> {
  const singleFlight = createSingleFlight<T>(timeout);
  let last: { readonly document: T; readonly at: number } | null = null;
  return async () => {
    const now = clock();
    const age = last === null || isAhead(last.at, now) ? Infinity : now - last.at;
    if (last !== null && age < MAX_AGE) return last.document;
    try {
      const document = await singleFlight.run('fetch', fetch);
      last = { document, at: clock() };
      return document;
    } catch (error) {
      if (last === null || !mayUseLast(error, age)) throw error;
      return last.document;
    }
  };
}
