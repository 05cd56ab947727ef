/** Authorization transactions in the core store: one browser's authorization request, until its code is issued. */
import type { Scopes } from '@portcullis/protocol';
import type { AuthorizationCodeRecord } from './grants.ts';

/** A pending authorization request. Times in epoch seconds. */
export interface AuthorizationTransactionRecord {
  readonly id: string;
  /** Base64url SHA-256 of the cookie that binds the transaction to the browser that started it. */
  readonly browserHash: string;
  /** The client that sent the request. */
  readonly clientId: string;
  /** The validated redirect URI. It is validated again before use. */
  readonly redirectUri: string;
  /** Whether the request contained it: then the token request has to repeat it. */
  readonly redirectUriSent: boolean;
  /** The `state` parameter, encrypted and in base64url; `null` when the request had none. @see RFC 6749 §4.1.1 */
  readonly encryptedState: string | null;
  /** The PKCE code challenge. @see RFC 7636 §4.3 */
  readonly codeChallenge: string;
  /** The thumbprint of the DPoP key that its code is bound to; absent or `null`: none. @see RFC 9449 §10 */
  readonly keyThumbprint?: string | null;
  /** The requested scopes. */
  readonly scopes: Scopes;
  /** The resource indicators. @see RFC 8707 §2 */
  readonly resources: readonly string[];
  /** The account that signed in for this transaction; `null` until then. */
  readonly accountId: string | null;
  /** The scopes that the user approved; `null` until then. */
  readonly approvedScopes: Scopes | null;
  /** Authentication context classes, any of which suffices; absent or empty: any sign-in does. */
  readonly acrValues?: readonly string[];
  /** Whether the user has to sign in even with a live session. */
  readonly forceLogin: boolean;
  /** The identity provider that the user signs in with; `null`: a local account, or not chosen yet. */
  readonly identityProvider: string | null;
  /** The identifier of the future grant whose provider tokens this transaction stored; `null` until then. */
  readonly linkedGrantId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Authorization transactions, and the codes they end with. @see RFC 6749 §4.1 */
export interface TransactionStore {
  /**
   * Stores a new transaction.
   * @param network a keyed hash of the site that opened it without a session, empty when unknown; `null` (default): it has one
   */
  openTransaction(transaction: AuthorizationTransactionRecord, network?: string | null): Promise<void>;
  /** The number of open transactions in which no user has signed in. */
  countAnonymousTransactions(now: number): Promise<number>;
  /** The same for each network that has any. Scans them all: call it when there are many. */
  countAnonymousTransactionsByNetwork(now: number): Promise<ReadonlyMap<string, number>>;
  /** The transaction, unless it has expired. */
  findTransaction(id: string, now: number): Promise<AuthorizationTransactionRecord | null>;
  /** Records who signed in, and drops the link to a grant of another user. Does nothing when the transaction is gone. */
  setTransactionAccount(id: string, accountId: string): Promise<void>;
  /**
   * Deletes the transaction and issues its code (`null`: the user denied). Atomic: of two concurrent calls one returns `true`,
   * the other issues nothing.
   */
  completeTransaction(id: string, code: AuthorizationCodeRecord | null): Promise<boolean>;
  /** Issues a code for a request that needed no page, and so no transaction. */
  issueCode(code: AuthorizationCodeRecord): Promise<void>;
}
