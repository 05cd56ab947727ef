/** `portcullis clients list` and `show`: registered, added and configured clients in one format. */
import type { ListedClient } from '@portcullis/authorization-server';
import type { Settings } from '../../settings/schema.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { timeOf, timeOrNull } from '../../terminal/times.ts';
import type { Act, Task } from './task.ts';

export const listClients: Act = async ({ clients, settings, flags }) => {
  const stored: ListedClient[] = [];
  for (let page = await clients.list(); page.length > 0; page = await clients.list(page.at(-1)?.id)) {
    stored.push(...page);
  }
  const all = [...settings.clients.map(configuredClient), ...stored.map(storedClient)];
  if (flags.json) return `${cleanJson(all)}\n`;
  if (all.length === 0) return 'There are no clients yet.\n';
  const rows = all.map(({ id, origin, state, lastUsedAt, verifiedAt, metadata }) => [
    state,
    verifiedAt === null ? origin : `${origin}, verified`,
    lastUsedAt === null ? 'never used' : `used ${String(lastUsedAt).slice(0, 10)}`,
    id,
    printable(metadata['client_name']),
  ]);
  return columns(rows);
};

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

export const showClient: Act = async (task) => {
  const stored = await task.clients.find(task.id);
  const found = findConfigured(task) ?? (stored === null ? null : storedClient(stored));
  if (found === null) throw unknownClient(task);
  if (task.flags.json) return `${cleanJson(found)}\n`;
  const { metadata, ...about } = found;
  const rows = Object.entries({ ...about, expiresAt: about.expiresAt ?? 'never', ...metadata })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, printable(typeof value === 'string' ? value : JSON.stringify(value))]);
  return columns(rows);
};

export function unknownClient({ id, processContext }: Task): Error {
  return new Error(
    `There is no client ${JSON.stringify(id)}: ${processContext.command} clients list shows all clients`,
  );
}

/** Removes control characters: clients choose their own names. */
function printable(value: unknown): string {
  return typeof value === 'string' ? cleanLine(value) : '';
}
