/** Removes the clients that an examination registered, and reports any that remain (RFC 7592). */
import type { CredentialStore, Fetch } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';
import { attempt } from './attempt.ts';
import type { Decision } from './report.ts';

type Registration = NonNullable<Parameters<CredentialStore['save']>[0]['registration']>;

/** Tracks registered clients by ID. */
export interface RegisteredClients {
  /** Wraps a store and tracks every registration: a client may be registered again. */
  readonly store: CredentialStore;
  readonly clients: ReadonlyMap<string, Registration>;
}

export function trackRegistrations(store: CredentialStore): RegisteredClients {
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

/** Milliseconds per deletion request. */
const TIMEOUT = 15_000;

/**
 * Deletes the registered clients and explains what remains; empty if there was none.
 * @param fetch to authorization servers
 * @see RFC 7592 §2.3
 */
export async function removeRegisteredClients(
  { clients }: RegisteredClients,
  fetch: Fetch,
): Promise<readonly Decision[]> {
  const reasons = await Promise.all(
    [...clients.values()].map(async (client) => ({
      id: client.clientId,
      reason: await remove(client, fetch),
    })),
  );
  if (reasons.length === 0) return [];
  const left = reasons.filter(({ reason }) => reason !== null);
  const choice = left.length === 0 ? 'removed' : `${left.map(({ id }) => cleanLine(id)).join(', ')} remains`;
  const [{ reason = null } = {}] = left;
  return [{ about: 'registered client', choice, reason: reason ?? 'the examination left nothing behind' }];
}

/** @returns why the client remains; `null` if it was removed */
async function remove({ management }: Registration, fetch: Fetch): Promise<string | null> {
  if (management === undefined) return `the server does not support removing clients (RFC 7592). ${HARMLESS}`;
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
  if ('failure' in removed) return `the server did not respond to its removal. ${HARMLESS}`;
  // 401: the client no longer exists. @see RFC 7592 §2.1
  if (removed.value === 204 || removed.value === 401) return null;
  return `the server answered its removal with status ${removed.value}. ${HARMLESS}`;
}

const HARMLESS = 'It has no tokens and is harmless: it gets no access unless a user signs in and allows it';
