/** The ports of the authorization server: what any store must do. Types only. */
import type { UserStore } from './accounts.ts';
import type { AssertionStore } from './assertions.ts';
import type { ClientMetadataDocumentStore } from './client-documents.ts';
import type { InitialAccessTokenStore } from './client-invitations.ts';
import type { ClientStore } from './clients.ts';
import type { AuditStore } from './events.ts';
import type { GrantStore } from './grants.ts';
import type { SigningKeyStore } from './keys.ts';
import type { PasskeyStore } from './passkeys.ts';
import type { RateLimitStore } from './rate-limits.ts';
import type { TotpStore } from './second-factors.ts';
import type { StatusListStore } from './statuses.ts';
import type { TransactionStore } from './transactions.ts';
import type { FederationStore } from './upstream.ts';

export type * from './accounts.ts';
export type * from './assertions.ts';
export type * from './client-documents.ts';
export type * from './client-invitations.ts';
export type * from './clients.ts';
export type * from './events.ts';
export type * from './grants.ts';
export type * from './keys.ts';
export type * from './passkeys.ts';
export type * from './rate-limits.ts';
export type * from './second-factors.ts';
export type * from './statuses.ts';
export type * from './transactions.ts';
export type * from './upstream.ts';

/**
 * All that the authorization server keeps. Every method is one fact: atomic, durable when its promise resolves, and
 * visible to every process that shares the store from then on. A store that cannot answer rejects with `OAuthError`
 * `temporarily_unavailable`.
 */
export interface AuthorizationStore
  extends UserStore,
    AssertionStore,
    ClientMetadataDocumentStore,
    InitialAccessTokenStore,
    ClientStore,
    AuditStore,
    GrantStore,
    SigningKeyStore,
    RateLimitStore,
    PasskeyStore,
    TotpStore,
    StatusListStore,
    TransactionStore,
    FederationStore {
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  /**
   * Deletes at most `limit` rows of each kind that nobody can use any more; answers how many. What shows misuse is kept for as
   * long as it can: a code for ten minutes after its end. Nothing that was revoked comes back by it.
   */
  sweep(now: number, limit: number): Promise<number>;
  /** What is under way ends first; afterwards every method rejects with `temporarily_unavailable`. */
  close(): Promise<void>;
}
