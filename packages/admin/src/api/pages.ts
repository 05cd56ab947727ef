/** Lists that are complete, and keyset pages of others: a cursor names the last item of a page, so that later pages neither repeat nor skip what is inserted before them. */
import * as z from 'zod';
import { type FoundPage, searchList } from '../operations/search-lists.ts';
import { ProblemError } from './problem.ts';

const MAX_LIMIT = 200;

/** The query of every list. */
export const pageQuery = {
  cursor: z.string().max(1000).optional().describe('`next` of the page before; the first page without it'),
  limit: z.coerce
    .number()
    .pipe(z.int().min(1).max(MAX_LIMIT))
    .default(50)
    .describe(`items of a page, at most ${MAX_LIMIT}`),
};

/** One page of a list. @param name of the schema in the OpenAPI document */
export function pageOf<T extends z.ZodType>(item: T, name: string) {
  return z
    .object({
      items: z.array(item),
      next: z.string().nullable().describe('cursor of the next page; null: this is the last'),
    })
    .meta({ id: name });
}

/** A list that is complete. @param name of the schema in the OpenAPI document */
export function listOf<T extends z.ZodType>(item: T, name: string) {
  return z.object({ items: z.array(item) }).meta({ id: name });
}

type PageRequest = z.output<z.ZodObject<typeof pageQuery>>;

/**
 * A page of a store that lists items after a key.
 * @param list at most so many items after a key; empty: from the first @param show an item as the API returns it
 */
export async function readPage<T, S>(
  { cursor, limit }: PageRequest,
  list: (after: string, limit: number) => Promise<readonly T[]>,
  keyOf: (item: T) => string,
  show: (item: T) => S,
): Promise<FoundPage<S>> {
  const { items, next } = await searchList(list, keyOf, null, readCursor(cursor), limit);
  return { items: items.map(show), next: writeCursor(next) };
}

/** A page of a list that is complete in memory. */
export function slicePage<T extends { readonly id: string }, S>(
  page: PageRequest,
  all: readonly T[],
  show: (item: T) => S,
): Promise<FoundPage<S>> {
  const after = (key: string) => (key === '' ? 0 : all.findIndex(({ id }) => id === key) + 1);
  const list = async (key: string, limit: number) => all.slice(after(key), after(key) + limit);
  return readPage(page, list, ({ id }) => id, show);
}

/** Opaque to clients; a position, and no secret. @param key `null`: there is no next page */
export function writeCursor(key: string | null): string | null {
  return key === null ? null : Buffer.from(`after:${key}`).toString('base64url');
}

/** @returns the key; empty: the first page was requested @throws ProblemError */
export function readCursor(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const [, key] = /^after:(.+)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (key === undefined || key.includes('\0'))
    throw new ProblemError(400, 'The cursor is not one of a page: leave it out to begin with the first.');
  return key;
}
