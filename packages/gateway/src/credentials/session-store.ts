/** A credential store of the client library for one operation: loaded from the gateway's store, and read for changes afterwards. */
import type { BackendRegistrations } from '@portcullis/authorization-server';
import {
  type CredentialRecord,
  type CredentialStore,
  createMemoryStore,
  keyText,
  type PendingAuthorization,
  type Registration,
} from '@portcullis/client';

export interface SessionStore extends CredentialStore {
  /** The record with tokens, if any. */
  session(): CredentialRecord | null;
  /** The pending authorization request. */
  pending(): PendingAuthorization | null;
}

/** The client library's key for the only account in each store. */
export const SESSION_ACCOUNT = 'gateway';

export interface SessionContent {
  readonly record?: CredentialRecord;
  readonly pending?: PendingAuthorization;
  /** Registrations that all users of a backend share. */
  readonly registrations?: BackendRegistrations;
}

/** @param server the canonical URL of the backend */
export async function createSessionStore(server: string, content: SessionContent): Promise<SessionStore> {
  const { record, pending: begun, registrations } = content;
  const memory = createMemoryStore();
  let saved: CredentialRecord | null = record ?? null;
  let pending: PendingAuthorization | null = begun ?? null;
  for (const { issuer, registration } of (await registrations?.list()) ?? []) {
    const key = { server, issuer, account: SESSION_ACCOUNT, kind: 'user' } as const;
    await memory.save({ key, registration: registration as Registration, tokens: null, since: null });
  }
  if (record !== undefined) await memory.save(record);
  if (begun !== undefined) await memory.savePending(begun);
  return {
    ...memory,
    async save(next, replaced) {
      const known = await memory.find(next.key);
      if (!(await memory.save(next, replaced))) return false;
      if (next.tokens !== null) saved = next;
      else if (saved !== null && keyText(saved.key) === keyText(next.key)) saved = null;
      if (JSON.stringify(known?.registration ?? null) !== JSON.stringify(next.registration))
        await registrations?.save(next.key.issuer, next.registration);
      return true;
    },
    async savePending(next) {
      pending = next;
      await memory.savePending(next);
    },
    session: () => saved,
    pending: () => pending,
  };
}
