/** The filters of Activity: part of its address, validated, shown as chips, and as a command. */
import type { EventCriteria } from '../../operations/search-events.ts';
import { links, withQuery } from '../links.ts';
import { PageError } from '../page-error.ts';
import { formatMinute } from '../ui/parts.ts';

/** Filters by name, with what is shown before their value. */
const FILTERS = {
  type: 'event',
  user: 'user',
  client: 'app',
  grant: 'connection',
  server: 'server',
  tool: 'tool',
  decision: 'decision',
  outcome: 'outcome',
  error: 'error',
} as const;

export type FilterName = keyof typeof FILTERS;

const FILTER_NAMES = Object.keys(FILTERS) as FilterName[];

/** What an address asks for. Times are epoch milliseconds. */
export interface ActivityFilter {
  readonly values: Readonly<Partial<Record<FilterName, string>>>;
  readonly since: number | null;
  /** The time before which events are shown. */
  readonly until: number | null;
  /** The identifier of the event before which they are; empty: the latest. */
  readonly before: string;
}

const MAX_LENGTH = 500;
const KNOWN: readonly string[] = [...FILTER_NAMES, 'since', 'until', 'before'];

/** @throws PageError 400 for an unknown filter, and a value that cannot be one */
export function readFilter(query: URLSearchParams): ActivityFilter {
  for (const name of query.keys()) {
    if (!KNOWN.includes(name)) throw wrong(`There is no filter ${JSON.stringify(name.slice(0, 50))}.`);
    if (query.getAll(name).length > 1) throw wrong(`The filter ${name} is given twice.`);
  }
  const values: Partial<Record<FilterName, string>> = {};
  for (const name of FILTER_NAMES) {
    const value = (query.get(name) ?? '').trim();
    if (value.length > MAX_LENGTH) throw wrong(`The value of ${name} is too long.`);
    if (value !== '') values[name] = value;
  }
  const before = query.get('before') ?? '';
  if (!/^[0-9A-Za-z_-]{0,100}$/.test(before))
    throw wrong('The page begins before an event that cannot be one.');
  return { values, since: readTime(query, 'since'), until: readTime(query, 'until'), before };
}

function readTime(query: URLSearchParams, name: string): number | null {
  const text = query.get(name) ?? '';
  if (text === '') return null;
  const at = Date.parse(text);
  if (Number.isNaN(at) || at < 0) throw wrong(`${name} is a time such as 2026-03-01T04:00:00Z.`);
  return at;
}

function wrong(sentence: string): PageError {
  return new PageError(400, 'This filter cannot be used', sentence, {
    label: 'All events',
    href: links.activity,
  });
}

/** What the search of the audit log takes. */
export function criteriaOf({ values, since }: ActivityFilter): EventCriteria {
  return { ...values, ...(since !== null && { since }) };
}

/** The address of these filters. */
export function addressOf({ values, since, until }: Omit<ActivityFilter, 'before'>, before = ''): string {
  const time = (at: number | null) => (at === null ? undefined : new Date(at).toISOString());
  return withQuery(links.activity, { ...values, since: time(since), until: time(until), before });
}

/** A filter in use: what it says, and the address without it. */
export interface FilterChip {
  readonly label: string;
  readonly value: string;
  readonly without: string;
}

/** The filters in use. */
export function chipsOf(filter: ActivityFilter): readonly FilterChip[] {
  const { values, since, until } = filter;
  const named = FILTER_NAMES.flatMap((name) => {
    const { [name]: value, ...others } = values;
    if (value === undefined) return [];
    return [{ label: FILTERS[name], value, without: addressOf({ ...filter, values: others }) }];
  });
  const times = Object.entries({ since, until }).flatMap(([label, at]) => {
    if (at === null) return [];
    return [{ label, value: formatMinute(at), without: addressOf({ ...filter, [label]: null }) }];
  });
  return [...named, ...times];
}

/** Flags of `portcullis events`; it has none for the error. */
const FLAGS = FILTER_NAMES.filter((name) => name !== 'error');

/** The command that shows the same. */
export function commandOf({ values, since }: ActivityFilter): string {
  const flags = FLAGS.flatMap((name) =>
    values[name] === undefined ? [] : [`--${name} ${quote(values[name])}`],
  );
  const time = since === null ? [] : [`--since ${new Date(since).toISOString()}`];
  return ['portcullis events', ...flags, ...time].join(' ');
}

/** For a POSIX shell. */
function quote(text: string): string {
  const printable = text.replaceAll(/\p{Cc}/gu, '');
  return /^[\w@.:/-]+$/.test(printable) ? printable : `'${printable.replaceAll("'", `'\\''`)}'`;
}
