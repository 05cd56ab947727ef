/** `portcullis clients list` and `show`: registered, added and configured clients in one format. */
import type { ListedClient } from '@portcullis/authorization-server';
import type { Settings } from '../../settings/schema.ts';
import { cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { timeOf, timeOrNull } from '../../terminal/times.ts';
import type { Output } from '../store-commands.ts';
import type { Task } from './task.ts';

export async function listClients({ clients, settings }: Task): Promise<Output> {
  const stored = await allPages((after) => clients.list(after));
  const all = [...settings.clients.map(configuredClient), ...stored.map(storedClient)];
  const rows = all.map(({ id, origin, state, lastUsedAt, verifiedAt, metadata }) => [
    state,
    verifiedAt === null ? origin : `${origin}, verified`,
    lastUsedAt === null ? 'never used' : `used ${String(lastUsedAt).slice(0, 10)}`,
    id,
    printable(metadata['client_name']),
  ]);
  return { json: all, text: all.length === 0 ? 'There are no clients yet.\n' : columns(rows) };
}

/** Every page of a list. @param find the page after the one with this ID, or the first one */
export async function allPages<T extends { readonly id: string }>(
  find: (after?: string) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = await find(); page.length > 0; page = await find(page.at(-1)?.id)) all.push(...page);
  return all;
}

interface Described {
  readonly id: string;
  readonly origin: string;
  readonly state: 'enabled' | 'disabled';
  /** ISO 8601. */
  readonly createdAt: string | null;
  readonly lastUsedAt: string | null;
  /** `null`: not verified, or not in need of it. */
  readonly verifiedAt: string | null;
  /** `null`: never. */
  readonly expiresAt: string | null;
  /** Expiry of the previous secret after a rotation. */
  readonly previousSecretExpiresAt?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

function storedClient({ id, origin, metadata, ...times }: ListedClient): Described {
  return {
    id,
    origin,
    state: times.disabledAt === null ? 'enabled' : 'disabled',
    createdAt: timeOrNull(times.createdAt),
    lastUsedAt: timeOrNull(times.lastUsedAt),
    verifiedAt: timeOrNull(times.verifiedAt),
    expiresAt: timeOrNull(times.expiresAt),
    ...(times.previousSecretExpiresAt !== null && {
      previousSecretExpiresAt: timeOf(times.previousSecretExpiresAt),
    }),
    metadata: { ...metadata },
  };
}

function configuredClient(document: Settings['clients'][number]): Described {
  const { client_id: id, client_secret: _secret, previous_client_secret: _previous, ...metadata } = document;
  const times = { createdAt: null, lastUsedAt: null, verifiedAt: null, expiresAt: null };
  return { id, origin: 'configured', state: 'enabled', ...times, metadata };
}

/** Finds a client defined in the configuration. */
export function findConfigured({ settings, id }: Task): Described | null {
  const document = settings.clients.find(({ client_id: known }) => known === id);
  return document === undefined ? null : configuredClient(document);
}

export async function showClient(task: Task): Promise<Output> {
  const stored = await task.clients.find(task.id);
  const found = findConfigured(task) ?? (stored === null ? null : storedClient(stored));
  if (found === null) throw unknownClient(task);
  const { metadata, ...about } = found;
  const rows = Object.entries({ ...about, expiresAt: about.expiresAt ?? 'never', ...metadata })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, printable(typeof value === 'string' ? value : JSON.stringify(value))]);
  return { json: found, text: columns(rows) };
}

export function unknownClient({ id, processContext }: Task): Error {
  return new Error(
    `There is no client ${JSON.stringify(id)}: ${processContext.command} clients list shows all clients`,
  );
}

/** Removes control characters: clients choose their own names. */
function printable(value: unknown): string {
  return typeof value === 'string' ? cleanLine(value) : '';
}
