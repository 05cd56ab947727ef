/** Removes the clients that an examination registered, and reports any that remain (RFC 7592). */
import type { CredentialStore, Fetch } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';
import type { Decision } from './report.ts';
import { attempt, requestLimits } from './requests.ts';

type Registration = NonNullable<Parameters<CredentialStore['save']>[0]['registration']>;

/** Wraps a store and collects every registration by client ID: a client may be registered again. */
export function trackRegistrations(store: CredentialStore): {
  readonly store: CredentialStore;
  readonly registrations: ReadonlyMap<string, Registration>;
} {
  const registrations = new Map<string, Registration>();
  return {
    registrations,
    store: {
      ...store,
      async save(record) {
        const { registration } = record;
        if (registration?.method === 'dynamic') registrations.set(registration.clientId, registration);
        await store.save(record);
      },
    },
  };
}

/**
 * Deletes the registered clients and explains what remains; empty if none was registered.
 * @param fetch to authorization servers
 * @see RFC 7592 §2.3
 */
export async function removeRegisteredClients(
  registrations: ReadonlyMap<string, Registration>,
  fetch: Fetch,
): Promise<readonly Decision[]> {
  const results = await Promise.all(
    [...registrations].map(async ([id, client]) => ({ id, reason: await remove(client, fetch) })),
  );
  if (results.length === 0) return [];
  const remaining = results.filter(({ reason }) => reason !== null);
  const choice =
    remaining.length === 0 ? 'removed' : `${remaining.map(({ id }) => cleanLine(id)).join(', ')} remains`;
  const reason = remaining[0]?.reason ?? 'the examination left nothing behind';
  return [{ about: 'registered client', choice, reason }];
}

/** @returns why the client remains; `null` if it was removed */
async function remove({ management }: Registration, fetch: Fetch): Promise<string | null> {
  if (management === undefined) return `the server does not support removing clients (RFC 7592). ${HARMLESS}`;
  const { uri, token } = management;
  const removed = await attempt(async () => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(uri, { ...requestLimits(), method: 'DELETE', headers });
    await response.body?.cancel();
    return response.status;
  });
  if ('failure' in removed) return `the server did not respond to its removal. ${HARMLESS}`;
  // 401: the client no longer exists. @see RFC 7592 §2.1
  if (removed.value === 204 || removed.value === 401) return null;
  return `the server answered its removal with status ${removed.value}. ${HARMLESS}`;
}

const HARMLESS = 'It has no tokens and is harmless: it gets no access unless a user signs in and allows it';
