/** The filters of Activity: part of its address, validated, shown as chips, and as a command. */
import type { EventCriteria } from '../../operations/search-events.ts';
import { links, withQuery } from '../links.ts';
import { PageError } from '../page-error.ts';
import { formatMinute, quoteForShell } from '../ui/parts.ts';

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
  since: 'since',
  until: 'until',
} as const;

export type FilterName = keyof typeof FILTERS;

const FILTER_NAMES = Object.keys(FILTERS) as FilterName[];

/** What an address asks for. Times are ISO 8601. */
export type ActivityFilter = Readonly<Partial<Record<FilterName, string>>>;

const MAX_LENGTH = 500;

/** @throws PageError 400 for an unknown filter, and a value that cannot be one */
export function readFilter(query: URLSearchParams): ActivityFilter {
  for (const name of query.keys()) {
    if (!Object.hasOwn(FILTERS, name) && name !== 'before')
      throw wrong(`There is no filter ${JSON.stringify(name.slice(0, 50))}.`);
    if (query.getAll(name).length > 1) throw wrong(`The filter ${name} is given twice.`);
  }
  const filter: Partial<Record<FilterName, string>> = {};
  for (const name of FILTER_NAMES) {
    const value = (query.get(name) ?? '').trim();
    if (value.length > MAX_LENGTH) throw wrong(`The value of ${name} is too long.`);
    if (value !== '') filter[name] = isTime(name) ? readTime(value, name) : value;
  }
  return filter;
}

/** The identifier of the event before which events are shown; empty: the latest. @throws PageError 400 */
export function readBefore(query: URLSearchParams): string {
  const before = query.get('before') ?? '';
  if (!/^[0-9A-Za-z_-]{0,100}$/.test(before))
    throw wrong('The page begins before an event that cannot be one.');
  return before;
}

function isTime(name: FilterName): boolean {
  return name === 'since' || name === 'until';
}

function readTime(text: string, name: string): string {
  const at = Date.parse(text);
  if (Number.isNaN(at) || at < 0) throw wrong(`${name} is a time such as 2026-03-01T04:00:00Z.`);
  return new Date(at).toISOString();
}

function wrong(sentence: string): PageError {
  return new PageError(400, 'This filter cannot be used', sentence, {
    label: 'All events',
    href: links.activity,
  });
}

/** What the search of the audit log takes. */
export function criteriaOf({ since, until: _until, ...values }: ActivityFilter): EventCriteria {
  return { ...values, ...(since !== undefined && { since: Date.parse(since) }) };
}

/** The address of these filters. */
export function addressOf(filter: ActivityFilter, before = ''): string {
  return withQuery(links.activity, { ...filter, before });
}

/** The filters in use: what each says, and the address without it. */
export function chipsOf(filter: ActivityFilter) {
  return FILTER_NAMES.flatMap((name) => {
    const { [name]: value, ...others } = filter;
    if (value === undefined) return [];
    const shown = isTime(name) ? formatMinute(Date.parse(value)) : value;
    return [{ label: FILTERS[name], value: shown, without: addressOf(others) }];
  });
}

/** Flags of `portcullis events`; it has none for the error, and for the end. */
const FLAGS = FILTER_NAMES.filter((name) => name !== 'error' && name !== 'until');

/** The command that shows the same. */
export function commandOf(filter: ActivityFilter): string {
  const flags = FLAGS.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [`--${name} ${quoteForShell(value)}`];
  });
  return ['portcullis events', ...flags].join(' ');
}
