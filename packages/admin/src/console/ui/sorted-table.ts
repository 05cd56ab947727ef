/** Tables that are sorted by a column: by links in its heading, as part of the address. Only whole lists can be. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { withQuery } from '../links.ts';
import type { ConsoleRequest } from '../page.ts';
import { type Cell, type Column, table } from './parts.ts';

/** A column by which items can be sorted. */
interface SortableColumn<T> extends Column {
  /** Its name in the address, and what is compared; absent: it cannot be sorted by. */
  readonly sort?: readonly [name: string, key: (item: T) => string | number];
}

/**
 * A table of items, in the order of the address: `sort=name`, or `sort=-name` for the last first. An unknown name changes nothing.
 * @param isWhole whether these are all items: one page of several would be sorted by itself alone
 */
export function sortedTable<T>(
  { path, query }: Pick<ConsoleRequest, 'path' | 'query'>,
  caption: string,
  columns: readonly SortableColumn<T>[],
  items: readonly T[],
  rowOf: (item: T) => readonly Cell[],
  isWhole = true,
): Markup {
  if (!isWhole || items.length < 2) return table(caption, columns, items.map(rowOf));
  const given = query.get('sort') ?? '';
  const [name, isDescending] = given.startsWith('-') ? [given.slice(1), true] : [given, false];
  const key = columns.find(({ sort }) => sort?.[0] === name)?.sort?.[1];
  const sorted = key === undefined ? items : sortBy(items, key, isDescending);
  const [base = ''] = path.split('?', 1);
  const linked = columns.map((column): Column => {
    const { sort, heading } = column;
    if (sort === undefined) return column;
    const isCurrent = key !== undefined && sort[0] === name;
    const next = isCurrent && !isDescending ? `-${sort[0]}` : sort[0];
    const href = withQuery(base, {
      ...Object.fromEntries(query),
      done: undefined,
      undo: undefined,
      sort: next,
    });
    return {
      ...column,
      link: html`<a href="${href}">${heading}${isCurrent && html`<span aria-hidden="true"> ${isDescending ? '↓' : '↑'}</span>`}</a>`,
      ...(isCurrent && { order: isDescending ? 'descending' : 'ascending' }),
    };
  });
  return table(caption, linked, sorted.map(rowOf));
}

/** Characters of a text that are compared, which takes quadratic time on long runs of accents. */
const MAX_COMPARED = 200;

const compareTexts = new Intl.Collator('en', { numeric: true, sensitivity: 'base' }).compare;

function sortBy<T>(
  items: readonly T[],
  key: (item: T) => string | number,
  isDescending: boolean,
): readonly T[] {
  const sorted = items.toSorted((one, other) => {
    const [a, b] = [key(one), key(other)];
    return typeof a === 'number' && typeof b === 'number'
      ? a - b
      : compareTexts(String(a).slice(0, MAX_COMPARED), String(b).slice(0, MAX_COMPARED));
  });
  return isDescending ? sorted.toReversed() : sorted;
}
