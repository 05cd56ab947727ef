/** What a store must do for authorization transactions: one person, one browser, one request of one client, until a code is issued. */
import type { Scopes } from '@portcullis/protocol';
import type { AuthorizationCodeRecord } from './grants.ts';

/** An authorization request under way. Times in epoch seconds. */
export interface AuthorizationTransactionRecord {
  readonly id: string;
  /** Base64url SHA-256 of the cookie that binds the transaction to the browser that started it. */
  readonly browserHash: string;
  readonly clientId: string;
  /** The admitted redirect URI. It is judged again before it is used. */
  readonly redirectUri: string;
  /** Whether the request carried it: then the token request's must match. */
  readonly redirectUriSent: boolean;
  readonly state: string | null;
  readonly codeChallenge: string;
  readonly scopes: Scopes;
  readonly resources: readonly string[];
  /** The account that signed in for this transaction; `null` until then. */
  readonly accountId: string | null;
  /** What the person allowed; `null` until then. */
  readonly approvedScopes: Scopes | null;
  /** Whether the person must sign in again, a live session notwithstanding. */
  readonly forceLogin: boolean;
  /** The third party by which the person signs in; `null`: here, or not chosen yet. */
  readonly identityProvider: string | null;
  /** The identifier of the grant whose bond with that third party was made in this transaction; `null` until then. */
  readonly linkedGrantId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface TransactionStore {
  openTransaction(transaction: AuthorizationTransactionRecord): Promise<void>;
  /** The transaction, unless it has expired. */
  findTransaction(id: string, now: number): Promise<AuthorizationTransactionRecord | null>;
  /** Notes who signed in. Nothing happens when the transaction is gone. */
  setTransactionAccount(id: string, accountId: string): Promise<void>;
  /**
   * Ends the transaction and issues its code (`null`: the person declined). One fact: of two racing calls one answers
   * `true`, the other finds nothing to end and issues nothing.
   */
  completeTransaction(id: string, code: AuthorizationCodeRecord | null): Promise<boolean>;
  /** Issues a code for a request that was answered without a page, and so without a transaction. */
  issueCode(code: AuthorizationCodeRecord): Promise<void>;
}
