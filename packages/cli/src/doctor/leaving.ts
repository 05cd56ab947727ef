/** Leaving a server as it was: the clients that an examination registered are removed again. */
import type { CredentialStore, Fetch } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';
import { attempt } from './attempt.ts';
import type { Decision } from './report.ts';

type Registration = NonNullable<Parameters<CredentialStore['save']>[0]['registration']>;

/** Clients that were registered, by their identifiers. */
export interface Registered {
  /** Keeps what the other one keeps, and notes who was registered: one client may take the place of another. */
  readonly store: CredentialStore;
  readonly clients: ReadonlyMap<string, Registration>;
}

export function noteRegistrations(store: CredentialStore): Registered {
  const clients = new Map<string, Registration>();
  return {
    clients,
    store: {
      ...store,
      async save(record) {
        const { registration } = record;
        if (registration?.method === 'dynamic') clients.set(registration.clientId, registration);
        await store.save(record);
      },
    },
  };
}

/** Milliseconds for one removal. */
const TIMEOUT = 15_000;

/**
 * Removes them, and says what remains and why; nothing when nobody was registered.
 * @param fetch to authorization servers
 * @see RFC 7592 §2.3
 */
export async function removeRegistered({ clients }: Registered, fetch: Fetch): Promise<readonly Decision[]> {
  const reasons = await Promise.all(
    [...clients.values()].map(async (client) => ({
      id: client.clientId,
      reason: await remove(client, fetch),
    })),
  );
  if (reasons.length === 0) return [];
  const left = reasons.filter(({ reason }) => reason !== null);
  const choice =
    left.length === 0 ? 'removed again' : `${left.map(({ id }) => cleanLine(id)).join(', ')} remains`;
  const [{ reason = null } = {}] = left;
  return [
    { about: 'registered client', choice, reason: reason ?? 'nothing of this examination is left behind' },
  ];
}

/** @returns why it remains; `null` when it is gone */
async function remove({ management }: Registration, fetch: Fetch): Promise<string | null> {
  if (management === undefined) return `the server offers no way to remove a client (RFC 7592). ${HARMLESS}`;
  const removed = await attempt(async () => {
    const response = await fetch(management.uri, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${management.token}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    await response.body?.cancel();
    return response.status;
  });
  if ('failure' in removed) return `the server did not answer its removal. ${HARMLESS}`;
  // Who is not known any more is gone, too. @see RFC 7592 §2.1
  if (removed.value === 204 || removed.value === 401) return null;
  return `the server answered its removal with status ${removed.value}. ${HARMLESS}`;
}

const HARMLESS =
  'It holds no tokens, and nothing that matters: nobody gets in by it without signing in and allowing it';
