/** The store capability `connectedAccounts`: tokens of users at the authorization servers of backends, and the registrations there. */
import type { ProviderTokensEndReason, RefreshedTokens, UpstreamTokens } from './federation.ts';

/** A user's tokens at a backend, used by one grant, which does not end with them. */
export interface ConnectedAccountRecord extends UpstreamTokens {
  /** The path of the backend's server. */
  readonly backend: string;
  /** Identifies the connection, through all refreshes: a backend does not say who its user is. */
  readonly connection: string;
}

/** A grant has at most one account at a backend. */
export type ConnectedAccountKey = Pick<ConnectedAccountRecord, 'grantId' | 'backend'>;

/** The registration of this server as a client at the authorization server of a backend. */
interface BackendRegistrationRecord {
  /** The path of the backend's server. */
  readonly backend: string;
  /** The client whose users it is for; `null`: all. */
  readonly clientId: string | null;
  readonly issuer: string;
  readonly encryptedRegistration: Uint8Array;
  readonly dataKeyId: string;
  /** Epoch seconds. */
  readonly createdAt: number;
}

/** The registrations of this server at the authorization servers of backends. */
export interface BackendRegistrationStore {
  /** At every issuer that the backend has had. @param clientId `null`: the registration for all clients */
  listBackendRegistrations(
    backend: string,
    clientId: string | null,
  ): Promise<readonly BackendRegistrationRecord[]>;
  /** Replaces an earlier one. */
  saveBackendRegistration(registration: BackendRegistrationRecord): Promise<void>;
  removeBackendRegistration(
    registration: Pick<BackendRegistrationRecord, 'backend' | 'clientId' | 'issuer'>,
  ): Promise<void>;
}

/** The outbox of revocations at backends: each ended account is a job until its tokens are deleted. */
interface AccountRevocationStore {
  /** Ends the accounts of grants revoked since then. @returns how many */
  endConnectedAccountsOfRevokedGrants(since: number, at: number): Promise<number>;
  /** As `claimRevocationJobs`. */
  claimAccountRevocations(
    now: number,
    until: number,
    limit: number,
  ): Promise<readonly ConnectedAccountRecord[]>;
  postponeAccountRevocation(key: ConnectedAccountKey, until: number): Promise<void>;
  /** As `completeRevocationJob`. Atomic. */
  completeAccountRevocation(key: ConnectedAccountKey, version: number): Promise<void>;
}

/** Store capability for the option `backends`: connected accounts, their revocation, and registrations at backends. */
export interface ConnectedAccountStore extends BackendRegistrationStore, AccountRevocationStore {
  /**
   * Saves an account, in place of an earlier one of the same grant and backend and with a higher version. Atomic.
   * @param transactionId the waiting transaction, which records the grant; `null`: the grant exists
   * @returns `false` when the transaction is gone or has another grant, or the grant is not live or of another account:
   * nothing is saved then
   */
  saveConnectedAccount(account: ConnectedAccountRecord, transactionId: string | null): Promise<boolean>;
  /** Saves tokens that have ended already, so that they are revoked at the backend. */
  saveEndedConnectedAccount(account: ConnectedAccountRecord): Promise<void>;
  /** Whether any live account is stored. */
  hasConnectedAccounts(): Promise<boolean>;
  /** Live or ended. */
  findConnectedAccount(key: ConnectedAccountKey): Promise<ConnectedAccountRecord | null>;
  /** The live accounts of a grant. */
  listConnectedAccounts(grantId: string): Promise<readonly ConnectedAccountRecord[]>;
  /** As `leaseProviderTokens`. Atomic. */
  leaseConnectedAccount(
    key: ConnectedAccountKey,
    version: number,
    holder: string,
    now: number,
    until: number,
  ): Promise<boolean>;
  /** Saves refreshed tokens and ends the lease. Atomic. @returns `false` when another process holds the lease */
  saveRefreshedConnectedAccount(
    key: ConnectedAccountKey,
    holder: string,
    refreshed: RefreshedTokens,
  ): Promise<boolean>;
  /** Ends a lease without a refresh. @param until no process may try before then; `null`: at once */
  releaseConnectedAccount(key: ConnectedAccountKey, holder: string, until: number | null): Promise<void>;
  /**
   * Ends an account, but not its grant. Atomic. @param version the version that was checked
   * @returns `false` when the version has changed or it has ended already
   */
  endConnectedAccount(
    key: ConnectedAccountKey,
    version: number,
    reason: ProviderTokensEndReason,
    at: number,
  ): Promise<boolean>;
}
