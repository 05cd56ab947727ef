/** Administration of initial access tokens for one registration each: creating, listing and revoking (RFC 7591 §3). */
import type { StoreContext } from '../context.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { InitialAccessTokenRecord } from '../store/index.ts';

/** An initial access token without its secret, which cannot be read again. */
export type ListedInitialAccessToken = Omit<InitialAccessTokenRecord, 'hash'>;

/** A new initial access token, with the secret that is only shown once. */
interface NewInitialAccessToken extends ListedInitialAccessToken {
  /** The bearer token that one client registers with. @see RFC 7591 §3 */
  readonly token: string;
}

/** Administers the initial access tokens of a store. */
export interface InitialAccessTokenAdministration {
  /**
   * Creates one.
   * @param seconds until it expires; a week by default
   * @param note what it is for; at most 200 characters are stored
   */
  create(note?: string, seconds?: number): Promise<NewInitialAccessToken>;
  /** Those not expired, used or not, ordered by creation: at most `limit` after `after`. */
  list(after?: string, limit?: number): Promise<readonly ListedInitialAccessToken[]>;
  /** Revokes one that is unused; to undo a used one, remove the client that registered with it. */
  revoke(id: string): Promise<'revoked' | 'used' | 'unknown'>;
}

const WEEK = 7 * 86_400;
/** Characters: it is shown in one line of a list. */
const LONGEST_NOTE = 200;

/** Works with or without a running server. */
export function createInitialAccessTokenAdministration(
  context: StoreContext,
): InitialAccessTokenAdministration {
  const { store, clock, events } = context;
  return {
    async create(note = '', seconds = WEEK) {
      const token = newSecret();
      const createdAt = clock();
      const listed: ListedInitialAccessToken = {
        id: newIdentifier('invite'),
        note: note.slice(0, LONGEST_NOTE).toWellFormed().replaceAll('\0', ''),
        createdAt,
        expiresAt: createdAt + seconds,
        clientId: null,
      };
      await store.saveInitialAccessToken({ ...listed, hash: hashSecret(token) });
      events({ type: 'initial_access_token.created', initialAccessTokenId: listed.id });
      return { ...listed, token };
    },
    async list(after = '', limit = 100) {
      const records = await store.listInitialAccessTokens(after, limit, clock());
      return records.map(({ hash: _hash, ...listed }) => listed);
    },
    async revoke(id) {
      const outcome = await store.revokeInitialAccessToken(id);
      if (outcome === 'revoked') events({ type: 'initial_access_token.revoked', initialAccessTokenId: id });
      return outcome;
    },
  };
}
