/** Searches a list that the store orders by a key: pages of what matches, without reading the whole list at once. */

export interface FoundPage<T> {
  readonly items: readonly T[];
  /** Key after which the search goes on; `null`: everything was searched. */
  readonly next: string | null;
}

/** Items of one query of a search. */
const BATCH = 500;
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
    for (const item of page) {
      if (matches !== null && !(await matches(item))) continue;
      if (items.length === limit) return { items, next: keyOf(items[limit - 1] ?? item) };
      items.push(item);
    }
    const last = page.at(-1);
    if (page.length < batch || last === undefined) return { items, next: null };
    key = keyOf(last);
    if (performance.now() > until) return { items, next: key };
  }
}
