/** Searches a list that the store orders by a key: pages of what matches, without reading the whole list at once. */

export interface FoundPage<T> {
  readonly items: readonly T[];
  /** Key after which the search goes on; `null`: everything was searched. */
  readonly next: string | null;
}

/** Items of one query of a search. */
const BATCH = 500;
/** Items that are matched at once, before the time is looked at. */
const CHUNK = 50;
/** Milliseconds that one request may search; what it has found by then is a page. */
const PATIENCE = 100;

/**
 * The items that match after a key, at most `limit`. A long search ends early: then a page has fewer items.
 * @param list at most so many items after a key; empty: from the first @param matches `null`: all do
 */
export async function searchList<T>(
  list: (after: string, limit: number) => Promise<readonly T[]>,
  keyOf: (item: T) => string,
  matches: ((item: T) => boolean | Promise<boolean>) | null,
  after: string,
  limit: number,
): Promise<FoundPage<T>> {
  const until = performance.now() + PATIENCE;
  const batch = matches === null ? limit + 1 : BATCH;
  const items: T[] = [];
  for (let key = after; ; ) {
    const page = await list(key, batch);
    for (let read = 0; read < page.length; read += CHUNK) {
      const chunk = page.slice(read, read + CHUNK);
      const areMatches = await Promise.all(chunk.map((item) => matches === null || matches(item)));
      for (const item of chunk.filter((_item, index) => areMatches[index])) {
        if (items.length === limit) return { items, next: keyOf(items[limit - 1] ?? item) };
        items.push(item);
      }
      key = keyOf(chunk.at(-1) as T);
      const isLast = page.length < batch && read + CHUNK >= page.length;
      if (!isLast && performance.now() > until) return { items, next: key };
    }
    if (page.length < batch) return { items, next: null };
  }
}
