/** Filters of `portcullis events`: which events of the audit log are shown. */
import type { AuditEventRecord, AuthorizationStore } from '@portcullis/authorization-server/store';
import { type Command, InvalidArgumentError, Option } from 'commander';

/** Flags of the filters; every one that is given has to match. */
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

export type EventFilter = (event: AuditEventRecord) => boolean;

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

/** `null` if no filter is given. An account that does not exist matches by its identifier: it may have been removed. */
export async function createFilter(
  flags: FilterFlags,
  store: AuthorizationStore,
): Promise<EventFilter | null> {
  const { type, user, client, grant, since } = flags;
  const account = user?.includes('@') === true ? await store.findAccountByEmail(user.toLowerCase()) : null;
  const accountId = account?.id ?? user;
  const details = Object.entries(flags).filter(
    ([name, value]) => DETAILS.includes(name) && value !== undefined,
  );
  const isGiven =
    [type, user, client, grant, since].some((value) => value !== undefined) || details.length > 0;
  if (!isGiven) return null;
  return (event) =>
    (type === undefined || matchesType(event.type, type)) &&
    (accountId === undefined || event.accountId === accountId) &&
    (client === undefined || event.clientId === client) &&
    (grant === undefined || event.grantId === grant) &&
    (since === undefined || event.at >= since) &&
    details.every(([name, value]) => event.details[name] === value);
}

const DETAILS: readonly string[] = ['server', 'tool', 'decision', 'outcome'];

function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

/** Events of one query. */
const PAGE = 1_000;

/** The latest events that match, oldest first. Reads back as far as it has to. */
export async function findLatest(
  store: AuthorizationStore,
  limit: number,
  filter: EventFilter | null,
  since = 0,
): Promise<readonly AuditEventRecord[]> {
  if (limit === 0 || filter === null) return store.listLatestEvents(limit);
  let found: readonly AuditEventRecord[] = [];
  for (let page = await store.listLatestEvents(PAGE); page.length > 0; ) {
    found = [...page.filter(filter), ...found];
    const [first] = page;
    if (first === undefined || found.length >= limit || page.length < PAGE || first.at < since) break;
    page = await store.listLatestEvents(PAGE, first.id);
  }
  return found.slice(-limit);
}
