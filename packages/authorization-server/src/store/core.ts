/** The core store, which every authorization server needs, and the capabilities that extend it. */
import type { ApprovalStore } from './approvals.ts';
import type { AuditStore } from './audit.ts';
import type { ClientStore } from './clients.ts';
import type { ConnectedAccountStore } from './connected-accounts.ts';
import type { DeviceAuthorizationStore } from './device-authorizations.ts';
import type { FederationStore } from './federation.ts';
import type { GrantStore } from './grants.ts';
import type { ManagedGrantStore } from './managed-grants.ts';
import type { MfaStore } from './mfa.ts';
import type { PersonalAccessTokenStore } from './personal-access-tokens.ts';
import type { ProvisioningStore } from './provisioning.ts';
import type { RateLimitStore } from './rate-limits.ts';
import type { RegistrationStore } from './registration.ts';
import type { SigningKeyStore } from './signing-keys.ts';
import type { TransactionStore } from './transactions.ts';
import type { UserStore } from './users.ts';

/**
 * Every method is one atomic operation, durable when its promise resolves and visible from then on to every process that shares
 * the store.
 * @throws OAuthError `temporarily_unavailable` from every method when the store is unavailable or closed
 * @see RFC 6749 §4.1.2.1, for the error code
 */
export interface CoreStore
  extends ClientStore,
    GrantStore,
    RateLimitStore,
    SigningKeyStore,
    TransactionStore {
  /**
   * Resolves if the store is whole and a write was committed: neither read-only, full nor removed. It costs a commit, so callers
   * cache its outcome.
   * @param now seconds
   * @throws OAuthError `temporarily_unavailable`
   */
  checkWritable(now: number): Promise<void>;
  /**
   * Epoch seconds, with fractions, by the clock of the database server, which all processes share; `null`: the store has no clock
   * other than this process.
   */
  readClock(): Promise<number | null>;
  /** Resolves if the store is available. @throws OAuthError `temporarily_unavailable` */
  ping(): Promise<void>;
  /**
   * Deletes at most `limit` obsolete rows of each table. Evidence of misuse is retained while it can matter: a code for ten minutes
   * after it expires. Nothing that was revoked becomes valid by it. @returns how many rows were deleted
   */
  sweep(now: number, limit: number): Promise<number>;
  /** Waits for pending operations; afterwards every method rejects with `temporarily_unavailable`. */
  close(): Promise<void>;
}

/** Optional capabilities of a store, by name. */
export interface StoreCapabilities {
  /** Accounts, passwords, sessions: for every sign-in, local or federated. */
  readonly users: UserStore;
  /** TOTP, recovery codes, passkeys: for local accounts. */
  readonly mfa: MfaStore;
  /** For identity providers. */
  readonly federation: FederationStore;
  /** For connected accounts (`backends`). */
  readonly connectedAccounts: ConnectedAccountStore;
  /** For dynamic client registration and client metadata documents. */
  readonly registration: RegistrationStore;
  /** For the audit log. */
  readonly audit: AuditStore;
  /** For personal access tokens. */
  readonly personalAccessTokens: PersonalAccessTokenStore;
  /** For device authorization. */
  readonly deviceAuthorizations: DeviceAuthorizationStore;
  /** For assertions of identity providers (`assertionIssuers` with `id-jag`). */
  readonly managedGrants: ManagedGrantStore;
  /** For approvals of calls (`approvals`). */
  readonly approvals: ApprovalStore;
  /** For provisioning by SCIM (`scim` of an identity provider). */
  readonly provisioning: ProvisioningStore;
}

/** A store with every capability, such as those of `@portcullis/store`. */
export interface AuthorizationStore
  extends CoreStore,
    UserStore,
    MfaStore,
    FederationStore,
    ConnectedAccountStore,
    RegistrationStore,
    AuditStore,
    PersonalAccessTokenStore,
    ManagedGrantStore,
    DeviceAuthorizationStore,
    ApprovalStore,
    ProvisioningStore {}
