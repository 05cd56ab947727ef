/** What a store must do for invitations: tokens that an administrator hands out, with each of which one client registers. */
import type { ClientRecord } from './clients.ts';

/** An invitation. Times in epoch seconds. */
export interface InitialAccessTokenRecord {
  readonly id: string;
  /** Base64url SHA-256 of the token. */
  readonly hash: string;
  /** For whom or what it is, in the words of the administrator; may be empty. */
  readonly note: string;
  readonly createdAt: number;
  /** From then on nobody registers with it, and it may be swept. */
  readonly expiresAt: number;
  /** The client that registered with it, whether it is still there or not; `null`: none yet. */
  readonly clientId: string | null;
}

export interface InitialAccessTokenStore {
  saveInitialAccessToken(invitation: InitialAccessTokenRecord): Promise<void>;
  /** The invitation of a token, used or not; `null` when there is none, or its time is over. */
  findInitialAccessToken(hash: string, now: number): Promise<InitialAccessTokenRecord | null>;
  /** Invitations whose time is not over, used or not, in the order of their identifiers: those behind `after` only. */
  listInitialAccessTokens(
    after: string,
    limit: number,
    now: number,
  ): Promise<readonly InitialAccessTokenRecord[]>;
  /**
   * Inserts a client that nobody knows yet, and uses the invitation up. One fact: of any number of clients that race for one
   * invitation, in any number of processes, one is stored; none once it was taken back.
   * @returns `false` when the invitation is used, gone, or over at the client's `createdAt`: nothing has changed then
   */
  registerClientWithInitialAccessToken(client: ClientRecord, invitationHash: string): Promise<boolean>;
  /** Takes an invitation back that nobody has used. One fact. `used` and `unknown`: nothing has changed. */
  revokeInitialAccessToken(id: string): Promise<'revoked' | 'used' | 'unknown'>;
}
