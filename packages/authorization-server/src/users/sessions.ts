/** Browser sessions: a random cookie, stored as a hash and replaced at every login (no session fixation). */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import { defineCookie } from '../http/cookies.ts';
import { languageOf } from '../http/language.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { parseBrowserName } from './browser-name.ts';

/** The methods of a sign-in by password alone. */
export const PASSWORD_ALONE: readonly string[] = ['pwd'];

/** Sessions of an account. A program that signs in without its cookie each time has lost the older ones. */
const MAX_SESSIONS = 200;

/** The proof that the request comes from a browser with a session. */
export interface User {
  readonly account: AccountRecord;
  /** Base64url SHA-256 of the session's cookie. */
  readonly sessionHash: string;
  /** Time of login. Epoch seconds. */
  readonly signedInAt: number;
  /** When the user authenticated: before that time, at an identity provider with a session of its own. Epoch seconds. */
  readonly authenticatedAt: number;
  /** How the user signed in; `null`: not known. */
  readonly methods: readonly string[] | null;
}

/** The sign-in that a session is for. */
interface SignIn {
  /** By their names in RFC 8176; `null`: not known. */
  readonly methods: readonly string[] | null;
  /** Epoch seconds. Default: now. */
  readonly authenticatedAt?: number;
  /** The session at the identity provider, by `providerSessionHash`. */
  readonly providerSession?: string | undefined;
  /** Lifetime of the session. Default: `lifetimes.session`. */
  readonly seconds?: number | undefined;
}

interface StartedSession {
  /** The `Set-Cookie` value. */
  readonly cookie: string;
  /** Identifies it: the base64url SHA-256 of its cookie. */
  readonly hash: string;
}

export type Sessions = ReturnType<typeof createSessions>;

/** @param sid of the provider's ID token. @see OpenID Connect Back-Channel Logout 1.0 §2.1 */
export function providerSessionHash(issuer: string, sid: string): string {
  return hashSecret(JSON.stringify([issuer, sid]));
}

export function createSessions(context: ServerContext<{ readonly sendsMail: boolean }>) {
  const { store, clock } = context;
  const { issuer, lifetimes, sendsMail } = context.options;
  const cookie = defineCookie(issuer, 'session');
  const endCarried = async (request: HttpRequest) => {
    const carried = cookie.read(request);
    if (carried !== null) await store.endSession(hashSecret(carried));
  };
  return {
    async find(request: HttpRequest): Promise<User | null> {
      const carried = cookie.read(request);
      if (carried === null) return null;
      const found = await store.findSession(hashSecret(carried), clock());
      if (found === null) return null;
      const { account, session } = found;
      return {
        account,
        sessionHash: session.hash,
        signedInAt: session.createdAt,
        authenticatedAt: session.authenticatedAt ?? session.createdAt,
        methods: session.methods ?? null,
      };
    },
    /**
     * Starts a session and ends the one in the request.
     * @param account as it was when its credential was verified
     * @returns `null`: since then its password was changed or reset, or it was disabled or removed
     */
    async start(
      request: HttpRequest,
      connection: ConnectionInfo,
      { id: accountId, passwordHash }: Pick<AccountRecord, 'id' | 'passwordHash'>,
      signIn: SignIn,
    ): Promise<StartedSession | null> {
      const { methods, authenticatedAt, providerSession, seconds = lifetimes.session } = signIn;
      // Session fixation: a value that was in the browser before the login never becomes a session.
      const value = newSecret();
      const createdAt = clock();
      const hash = hashSecret(value);
      const session = {
        hash,
        accountId,
        createdAt,
        expiresAt: createdAt + seconds,
        address: connection.address ?? null,
        browser: parseBrowserName(request.headers.get('user-agent')),
        ...(methods !== null && { methods }),
        ...(authenticatedAt !== undefined && { authenticatedAt }),
        ...(providerSession !== undefined && { providerSession }),
        ...(sendsMail && { language: languageOf(request) }),
      };
      if (!(await store.saveSession(session, passwordHash, MAX_SESSIONS))) return null;
      await endCarried(request);
      return { cookie: cookie.write(value, seconds), hash };
    },
    /** Ends the session in the request. @returns the `Set-Cookie` value that clears the cookie */
    async end(request: HttpRequest): Promise<string> {
      await endCarried(request);
      return cookie.clear();
    },
  };
}
