/** Filters of `portcullis events`: which events of the audit log are shown. */
import { createAccountAdministration } from '@portcullis/authorization-server';
import type {
  AuditEventRecord,
  AuditEventSearch,
  AuthorizationStore,
} from '@portcullis/authorization-server/store';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { cleanLine } from '../terminal/clean.ts';
import { checkEventType, matchesType } from './event-types.ts';

/** Flags of the filters; all specified filters must match. */
export interface FilterFlags {
  readonly type?: string;
  readonly user?: string;
  readonly client?: string;
  readonly grant?: string;
  readonly server?: string;
  readonly tool?: string;
  readonly decision?: string;
  readonly outcome?: string;
  /** Epoch milliseconds. */
  readonly since?: number;
}

export function addFilterOptions(command: Command): void {
  const filters: readonly (readonly [flags: string, description: string])[] = [
    ['--type <event>', 'only this event, or all below a name: call.finished, token.*'],
    ['--user <account>', 'only those of a user: email address or ID of an account'],
    ['--client <id>', 'only those of a client'],
    ['--grant <id>', 'only those of a connection'],
    ['--server <path>', 'only calls of a server behind the gateway, such as /files'],
    ['--tool <name>', 'only calls of a tool'],
    [
      '--decision <decision>',
      'only calls that were allowed, denied, insufficient_scope, limited, invalid or unapproved',
    ],
    ['--outcome <outcome>', 'only calls that were answered, refused, unavailable, cancelled, …'],
  ];
  for (const [flags, description] of filters) command.option(flags, description);
  command.addOption(
    new Option(
      '--since <time>',
      'only those since this time, such as 2026-03-01T04:00Z, or 15m, 6h, 7d ago',
    ).argParser(readSince),
  );
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function readSince(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a time such as 2026-03-01T04:00Z, or 15m, 6h, 7d.');
  return at;
}

/** A filter: criteria for the store's search, and details that are matched here. */
export interface EventFilter {
  readonly search: EventSearch;
  readonly matches: (event: AuditEventRecord) => boolean;
}

type EventSearch = Omit<AuditEventSearch, 'from' | 'before'>;

/**
 * `null` without filters. An account that does not exist matches by its identifier: it may have been deleted.
 * @throws Error for an address of no account, or of several, and for an unknown event
 */
export async function createFilter(
  flags: FilterFlags,
  store: AuthorizationStore,
): Promise<EventFilter | null> {
  const { type = null, user = null, client = null, grant = null, since } = flags;
  if (type !== null) checkEventType(type);
  const accountId = user === null ? null : await findAccountId(store, user);
  const details = Object.entries(flags).filter(
    ([name, value]) => DETAILS.includes(name) && value !== undefined,
  );
  const isGiven = [type, user, client, grant].some((value) => value !== null) || since !== undefined;
  if (!isGiven && details.length === 0) return null;
  return {
    search: { type, accountId, clientId: client, grantId: grant, reference: null },
    matches: (event) =>
      (type === null || matchesType(event.type, type)) &&
      (accountId === null || event.accountId === accountId) &&
      (client === null || event.clientId === client) &&
      (grant === null || event.grantId === grant) &&
      (since === undefined || event.at >= since) &&
      details.every(([name, value]) => event.details[name] === value),
  };
}

async function findAccountId(store: AuthorizationStore, user: string): Promise<string> {
  if (user.startsWith('user_')) return user;
  // Finding records no event, and needs no time.
  const { find } = createAccountAdministration({ store, issuer: '', clock: () => 0, events: () => {} });
  const account = await find(user);
  if (account !== null) return account.id;
  throw new Error(
    `There is no account for ${cleanLine(user)}. Events of a removed account are found by its ID, which begins with user_`,
  );
}

const DETAILS: readonly string[] = ['server', 'tool', 'decision', 'outcome'];

/** Events of one query. */
const PAGE = 1_000;
/** Time range of the first query, in milliseconds. */
const FIRST_SPAN = 3_600_000;
/** Target query duration in milliseconds, far below the store's timeout; faster queries increase the next range. */
const QUICK = 250;
const SLOW = 1_000;
/** Time range after a failure, in milliseconds: a busy hour after a quiet one may exceed the store's timeout. */
const LEAST_SPAN = 60_000;
/** Sorts after every identifier. */
const END = '~';

/** The latest events that match, oldest first. Reads back as far as necessary. */
export async function findLatest(
  store: AuthorizationStore,
  limit: number,
  filter: EventFilter | null,
  since = 0,
): Promise<readonly AuditEventRecord[]> {
  if (limit === 0 || filter === null) return store.listLatestEvents(limit);
  const found: AuditEventRecord[] = [];
  for await (const page of searchBack(store, filter.search, since)) {
    found.unshift(...page.filter(filter.matches));
    if (found.length >= limit) break;
  }
  return found.slice(-limit);
}

/** Searches the log from its end: pages of matching events, the latest first, until a time. @param since epoch milliseconds */
export async function* searchBack(
  store: AuthorizationStore,
  search: EventSearch,
  since = 0,
): AsyncGenerator<readonly AuditEventRecord[]> {
  const [oldest] = await store.listEvents('', 1);
  if (oldest === undefined) return;
  const first = Math.max(since, oldest.at);
  let [span, end, before] = [FIRST_SPAN, Date.now(), END];
  for (;;) {
    const began = performance.now();
    const from = Math.max(first, end - span);
    const page = await store
      .searchEvents({ ...search, from: idPrefixOf(from), before }, PAGE)
      .catch((error: unknown) => {
        if (span <= LEAST_SPAN) throw error;
        return null;
      });
    if (page === null) {
      span /= 8;
      continue;
    }
    yield page;
    if (page.length < PAGE) {
      if (from === first) return;
      [end, before] = [from, idPrefixOf(from)];
    } else before = page[0]?.id ?? before;
    const took = performance.now() - began;
    if (took < QUICK) span *= 2;
    else if (took > SLOW) span /= 2;
  }
}

/** The prefix of every event ID created at a time. @param at epoch milliseconds */
export function idPrefixOf(at: number): string {
  return Math.floor(at).toString(36).padStart(9, '0');
}
