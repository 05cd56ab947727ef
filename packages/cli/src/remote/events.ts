/** `events` of a remote server: pages of the audit log, and its stream of new events. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readReference } from '@portcullis/admin/operations';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { readEvents } from '@portcullis/http';
import { createEventPrinter, isNamedEvent } from '../admin/event-lines.ts';
import { CommandFailure, exitCodeOf, exitCodes } from '../client/exit-codes.ts';
import { isObject, parseJson } from '../json.ts';
import type { AdminApi } from './admin-api.ts';
import { at, type RemoteFlags, type RemoteTask, textsOf } from './command.ts';

/** Events of a page. */
const PAGE = 200;
/** Milliseconds before a broken stream is opened again, and how often in a row. */
const RETRY_DELAY = 2_000;
const MAX_RETRIES = 30;
/** Milliseconds with which servers write events late, at most. */
const OVERLAP = 10_000;

export async function showEvents({ api, flags, terminal, processContext }: RemoteTask): Promise<void> {
  const isTerminal = terminal.outputIsTerminal;
  const printer = createEventPrinter({ isTerminal, json: flags['json'] === true }, namesOf(api), (text) =>
    terminal.print(text),
  );
  // Opened first, so that none is missed between the past and the stream.
  const stream = flags['follow'] ? await openStream(api, flags) : null;
  const past = await findPast(api, flags);
  terminal.during(null);
  if (past.length > 0 || stream !== null) printer.header();
  for (const event of past) await printer.print(event);
  if (stream !== null) return follow(stream, api, flags, printer.print);
  if (past.length === 0) processContext.complain('no event matches');
  if (past.length === 0 && isNamed(flags)) throw new CommandFailure(exitCodes.usage);
}

/** Whether the flags name one authorization. */
function isNamed({ flow, reference }: RemoteFlags): boolean {
  return flow !== undefined || reference !== undefined;
}

function criteriaOf(flags: RemoteFlags): Readonly<Record<string, string>> {
  return textsOf(flags, 'type', 'user', 'client', 'grant', 'server', 'tool', 'decision', 'outcome');
}

/** The latest events that match, oldest first. */
async function findPast(api: AdminApi, flags: RemoteFlags): Promise<readonly AuditEventRecord[]> {
  const { flow, reference, since, last } = flags;
  if (typeof flow === 'string') return findTransaction(api, flow);
  const code = typeof reference === 'string' ? readReference(reference) : undefined;
  const query = {
    ...criteriaOf(flags),
    ...(typeof since === 'number' && { since: new Date(since).toISOString() }),
    ...(code !== undefined && { reference: code }),
  };
  const events = await findLatest(api, query, Number(last));
  const [named] = events;
  if (code === undefined || named?.transactionId == null) return events;
  const related = await findTransaction(api, named.transactionId);
  return [...related.filter(({ id }) => !events.some((one) => one.id === id)), ...events];
}

async function findLatest(
  api: AdminApi,
  query: Readonly<Record<string, string>>,
  count: number,
): Promise<readonly AuditEventRecord[]> {
  const found: AuditEventRecord[] = [];
  if (count === 0) return found;
  const limit = String(Math.min(PAGE, count));
  for await (const { items } of api.pages({ method: 'GET', path: '/events', query: { ...query, limit } })) {
    found.push(...items.flatMap((item) => readEvent(item) ?? []));
    if (found.length >= count) break;
  }
  return found.slice(0, count).toReversed();
}

async function findTransaction(api: AdminApi, id: string): Promise<readonly AuditEventRecord[]> {
  return (await api.list(`/transactions/${at(id)}/events`)).flatMap((item) => readEvent(item) ?? []);
}

type Stream = AsyncGenerator<AuditEventRecord>;

async function openStream(api: AdminApi, flags: RemoteFlags): Promise<Stream> {
  return readStream(await api.open('/events/stream', criteriaOf(flags)));
}

/** A stream ends with its access token: then another one is opened, and what happened meanwhile is read. */
async function follow(
  first: Stream,
  api: AdminApi,
  flags: RemoteFlags,
  print: (event: AuditEventRecord) => Promise<void>,
): Promise<void> {
  for (let stream = first; ; ) {
    const openedAt = Date.now();
    let latest = openedAt;
    try {
      for await (const event of stream) {
        latest = event.at;
        if (isNamedEvent(event, flags)) await print(event);
      }
    } catch (error) {
      if (error instanceof CommandFailure) throw error;
    }
    // One that ends at once would be opened again and again.
    if (Date.now() - openedAt < RETRY_DELAY) await sleep(RETRY_DELAY);
    stream = await reopen(api, flags);
    const since = Math.max(latest, openedAt);
    const missed = await findLatest(
      api,
      { ...criteriaOf(flags), since: new Date(since - OVERLAP).toISOString() },
      1_000,
    );
    for (const event of missed) if (isNamedEvent(event, flags)) await print(event);
  }
}

/** Tries again while the server cannot be reached. */
async function reopen(api: AdminApi, flags: RemoteFlags): Promise<Stream> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openStream(api, flags);
    } catch (error) {
      if (exitCodeOf(error) !== exitCodes.temporary || tries >= MAX_RETRIES) throw error;
      await sleep(RETRY_DELAY);
    }
  }
}

async function* readStream({ body }: Response): Stream {
  if (body === null) return;
  for await (const { text } of readEvents(body)) {
    const event = readEvent(parseJson(text));
    if (event !== null) yield event;
  }
}

/** An event of the API, as the store has it. */
function readEvent(item: unknown): AuditEventRecord | null {
  if (!isObject(item) || typeof item['at'] !== 'string' || !isObject(item['details'])) return null;
  const { id, type, userId, clientId, grantId, resource, transactionId } = item;
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return {
    ...{ id: String(id), at: Date.parse(item['at']), type: String(type), details: item['details'] },
    ...{ accountId: text(userId), clientId: text(clientId), grantId: text(grantId) },
    ...{ resource: text(resource), transactionId: text(transactionId), expiresAt: 0 },
  };
}

/** What cannot be found has no name. */
function namesOf(api: AdminApi) {
  const find = async (path: string) => {
    const found = await api.send({ method: 'GET', path }).catch(() => null);
    return isObject(found) ? found : null;
  };
  return {
    async findAccount(id: string) {
      const { email } = (await find(`/users/${at(id)}`)) ?? {};
      return typeof email === 'string' ? { email } : null;
    },
    async findClient(id: string) {
      const { name } = (await find(`/clients/${at(id)}`)) ?? {};
      return typeof name === 'string' ? { metadata: { client_name: name } } : null;
    },
  };
}
