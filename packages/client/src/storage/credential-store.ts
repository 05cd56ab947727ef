/** What keeps credentials must do: the port, with the concurrency law of each method. */

import type { PendingAuthorization } from '../authorization/pending.ts';
import type { Registration } from '../registration/registration.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';

/** Who acts by a session: a person who signed in, or a program by credentials of its own. */
export type SessionKind = 'user' | 'application' | 'workload' | 'enterprise';

/**
 * Credentials belong to one server, one issuer, one account, and whoever acts by them: the person, or one client for
 * itself. No other combination sees them.
 */
export interface CredentialKey {
  /** Canonical URL of the protected server. */
  readonly server: string;
  readonly issuer: string;
  /** The person's name for it; `default` where there is one only. */
  readonly account: string;
  /** Records of earlier versions do not say it: `sessionKindOf` judges them. */
  readonly kind?: SessionKind;
  /** The client that acts for itself; a person has none, whichever client the sign-in went through. */
  readonly clientId?: string;
}

/** All that is kept under one key. */
export interface CredentialRecord {
  readonly key: CredentialKey;
  /** Dynamic registrations and what a person typed; configured clients stay in the configuration. */
  readonly registration: Registration | null;
  readonly tokens: Tokens | null;
  /** Epoch milliseconds at which the session began; records of earlier versions do not say it. */
  readonly since?: number;
  /** Binds the tokens of a program to the credential that they were got with; a person's have none. */
  readonly credentialFingerprint?: string;
}

/** Gives a lock back. */
export type Unlock = () => Promise<void>;

/** Keeps credentials, for one client or for several at once. */
export interface CredentialStore {
  /** Where credentials are kept, for a person to read: `memory`, `the file …`. */
  readonly location: string;
  /** The record, as last saved by anybody who shares the store. */
  find(key: CredentialKey): Promise<CredentialRecord | null>;
  /** All records of an account at a server, whatever the issuer and whoever acts. */
  list(server: string, account: string): Promise<readonly CredentialRecord[]>;
  /** Replaces the whole record, atomically: a reader sees the old one or the new one. */
  save(record: CredentialRecord): Promise<void>;
  /** Removes a record; nothing happens when there is none. */
  remove(key: CredentialKey): Promise<void>;
  /** Keeps a flow that waits for its answer. */
  savePending(pending: PendingAuthorization): Promise<void>;
  /** Hands a waiting flow to exactly one caller, and forgets it; `null` when there is none. */
  takePending(state: string): Promise<PendingAuthorization | null>;
  /**
   * Waits until nobody who shares the store holds the lock of that name, and takes it. A holder that dies loses it.
   * @param name any text
   */
  lock(name: string): Promise<Unlock>;
}

/** A key as one text, unambiguous. */
export function keyText(key: CredentialKey): string {
  return JSON.stringify([key.server, key.issuer, key.account, ...holderOf(key)]);
}

/** Who acts by it, where that is not the person: kind and client. */
export function holderOf({ kind = 'user', clientId = '' }: CredentialKey): readonly string[] {
  return kind === 'user' ? [] : [kind, clientId];
}
