/** Removes the clients that an examination registered, and reports any that remain (RFC 7592). */
import type { CredentialStore, Fetch } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';
import type { Decision } from './report.ts';
import { attempt, requestLimits } from './requests.ts';

type Registration = NonNullable<Parameters<CredentialStore['save']>[0]['registration']>;

/** Wraps a store and collects every registration by client ID: a client may be registered again. */
export function trackRegistrations(store: CredentialStore): {
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly store: CredentialStore;
} {
  const registrations = new Map<string, Registration>();
  const save: CredentialStore['save'] = (record, replaced) => {
    const { registration } = record;
    if (registration?.method === 'dynamic') registrations.set(registration.clientId, registration);
    return store.save(record, replaced);
  };
  return { registrations, store: { ...store, save } };
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
  if (registrations.size === 0) return [];
  const remaining: string[] = [];
  let reason = 'the examination left nothing behind';
  for (const [id, client] of registrations) {
    const obstacle = await remove(client, fetch);
    if (obstacle === null) continue;
    remaining.push(cleanLine(id));
    reason = `the server ${obstacle}. It has no tokens and is harmless: it gets no access unless a user signs in and allows it`;
  }
  const choice = remaining.length === 0 ? 'removed' : `${remaining.join(', ')} remains`;
  return [{ about: 'registered client', choice, reason }];
}

/** @returns why the client remains; `null` if it was removed */
async function remove({ management }: Registration, fetch: Fetch): Promise<string | null> {
  if (management === undefined) return 'does not support removing clients (RFC 7592)';
  const headers = { authorization: `Bearer ${management.token}` };
  const removed = await attempt(() =>
    fetch(management.uri, { ...requestLimits(), method: 'DELETE', headers }),
  );
  if ('failure' in removed) return 'did not respond to its removal';
  const { status, body } = removed.value;
  void body?.cancel().catch(() => undefined);
  // 401: the client no longer exists. @see RFC 7592 §2.1
  return status === 204 || status === 401 ? null : `answered its removal with status ${status}`;
}
