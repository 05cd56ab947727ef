/** Invitations in the hands of an administrator: initial access tokens for one registration each, made, listed, taken back. */
import type { ServerContext } from '../context.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { InitialAccessTokenRecord } from '../store/index.ts';

/** What is told of an invitation: not its token, which nobody can read again. */
export type ListedInitialAccessToken = Omit<InitialAccessTokenRecord, 'hash'>;

/** An invitation as its maker gets it, once. */
export interface NewInitialAccessToken extends ListedInitialAccessToken {
  /** The initial access token: a bearer token, by which one client may register itself. @see RFC 7591 §3 */
  readonly token: string;
}

/** The invitations of a store, in the hands of an administrator. */
export interface InitialAccessTokenAdministration {
  /**
   * Makes one.
   * @param seconds for which it waits; a week when left out
   * @param note for whom or what it is, to tell it from others; at most 200 characters are kept
   */
  create(note?: string, seconds?: number): Promise<NewInitialAccessToken>;
  /** Those whose time is not over, used or not, in the order in which they were made: behind `after`, at most `limit`. */
  list(after?: string, limit?: number): Promise<readonly ListedInitialAccessToken[]>;
  /** Takes one back that nobody has used; a client that came by a used one is to be removed itself. */
  revoke(id: string): Promise<'revoked' | 'used' | 'unknown'>;
}

const WEEK = 7 * 86_400;
/** Characters: it stands in a line of a list. */
const LONGEST_NOTE = 200;

/** Administers the invitations of a store, with or without a server beside it. */
export function createInitialAccessTokenAdministration({
  store,
  clock,
  events,
}: Pick<ServerContext, 'store' | 'clock' | 'events'>): InitialAccessTokenAdministration {
  return {
    async create(note = '', seconds = WEEK) {
      const token = newSecret();
      const createdAt = clock();
      const invitation: ListedInitialAccessToken = {
        id: newIdentifier('invite'),
        note: note.slice(0, LONGEST_NOTE).toWellFormed().replaceAll('\0', ''),
        createdAt,
        expiresAt: createdAt + seconds,
        clientId: null,
      };
      await store.saveInitialAccessToken({ ...invitation, hash: hashSecret(token) });
      events({ type: 'initial_access_token.created', initialAccessTokenId: invitation.id });
      return { ...invitation, token };
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
