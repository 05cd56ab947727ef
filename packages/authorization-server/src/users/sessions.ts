/** Browser sessions: a random cookie, known to the store by its hash, new at every sign-in. */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import type { Configuration } from '../configuration.ts';
import { defineCookie } from '../cookies.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { parseBrowserName } from './browser-name.ts';

/** The proof that somebody is signed in in the browser that sent the request. */
export interface User {
  readonly account: AccountRecord;
  /** Base64url SHA-256 of the session's cookie. */
  readonly sessionHash: string;
  /** When this person signed in. Epoch seconds. */
  readonly signedInAt: number;
}

export interface Sessions {
  find(request: HttpRequest): Promise<User | null>;
  /**
   * Signs an account in; the session that the request carried ends. Answers the `Set-Cookie` value.
   * @param seconds how long it lasts; as long as sessions do when left out
   */
  start(
    request: HttpRequest,
    connection: ConnectionInfo,
    accountId: string,
    seconds?: number,
  ): Promise<string>;
  /** Signs out. Answers the `Set-Cookie` value. */
  end(request: HttpRequest): Promise<string>;
}

export function createSessions({ issuer, store, lifetimes, clock }: Configuration): Sessions {
  const cookie = defineCookie(issuer, 'session');
  const endCarried = async (request: HttpRequest) => {
    const carried = cookie.read(request);
    if (carried !== null) await store.endSession(hashSecret(carried));
  };
  return {
    async find(request) {
      const carried = cookie.read(request);
      if (carried === null) return null;
      const found = await store.findSession(hashSecret(carried), clock());
      if (found === null) return null;
      const { account, session } = found;
      return { account, sessionHash: session.hash, signedInAt: session.createdAt };
    },
    async start(request, connection, accountId, seconds = lifetimes.session) {
      // A value that was in the browser before must not become a signed-in one.
      const value = newSecret();
      const createdAt = clock();
      await store.saveSession({
        hash: hashSecret(value),
        accountId,
        createdAt,
        expiresAt: createdAt + seconds,
        address: connection.address ?? null,
        browser: parseBrowserName(request.headers.get('user-agent')),
      });
      await endCarried(request);
      return cookie.write(value, seconds);
    },
    async end(request) {
      await endCarried(request);
      return cookie.clear();
    },
  };
}
