/** Logins elsewhere until their callback: found by `state`, bound to the browser that started them, and used up once. */
import type { HttpRequest } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import { type Cookie, defineCookie } from '../http/cookies.ts';
import { hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import type { TokenVault } from './token-vault.ts';

/** What the callback needs to know, besides the secrets. */
type LoginFacts = Omit<FederatedLoginRecord, 'stateHash' | 'browserHash' | 'encryptedSecrets' | 'expiresAt'>;

export interface PendingLogins<Secrets> {
  /**
   * Stores the login, with its secrets encrypted.
   * @param until epoch seconds after which it is no longer needed
   * @returns the `Set-Cookie` value that binds it to the browser
   */
  save(facts: LoginFacts, state: string, secrets: Secrets, until: number): Promise<string>;
  /** Finds the login of a `state` at an identity provider or a backend, and checks that this browser started it. */
  find(request: HttpRequest, at: { readonly id: string }, state: string): Promise<FoundLogin>;
  /** Consumes the login, once. */
  consume(login: FederatedLoginRecord): Promise<Secrets | null>;
  /** The `Set-Cookie` value that deletes its cookie. */
  clearCookie(login: FederatedLoginRecord): string;
}

type FoundLogin = FederatedLoginRecord | 'unknown' | 'no-cookie' | 'other-browser';

/** Seconds that a login may take elsewhere. @see MCP security best practices */
const LOGIN_LIFETIME = 600;

/** @param purpose is part of the encryption context: the secrets of one purpose cannot be read as those of another */
export function createPendingLogins<Secrets extends object>(
  { store, clock, options: { issuer } }: ServerContext,
  vault: TokenVault,
  purpose: 'federated login' | 'backend login',
): PendingLogins<Secrets> {
  /** Several tabs may log in at once, so each login has a cookie of its own. */
  const cookieFor = (stateHash: string): Cookie =>
    defineCookie(issuer, `federated-login-${stateHash.slice(0, 8)}`);
  const destination = purpose === 'federated login' ? 'identityProvider' : 'backend';
  const encryptionContext = (stateHash: string) => `${purpose} ${stateHash}`;
  return {
    async save(facts, state, secrets, until) {
      const stateHash = hashSecret(state);
      const { ciphertext: encryptedSecrets } = await vault.encrypt(secrets, encryptionContext(stateHash));
      const browser = newSecret();
      const now = clock();
      const expiresAt = Math.min(now + LOGIN_LIFETIME, until);
      const browserHash = hashSecret(browser);
      await store.saveFederatedLogin({ ...facts, stateHash, browserHash, encryptedSecrets, expiresAt });
      return cookieFor(stateHash).write(browser, expiresAt - now);
    },
    async find(request, { id }, state) {
      const login = await store.findFederatedLogin(hashSecret(state), clock());
      // Mix-up attack: a response at the redirect URI of another provider MUST NOT be accepted. @see RFC 9700 §4.4.2.2
      if (login === null || login[destination] !== id) return 'unknown';
      const cookie = cookieFor(login.stateHash).read(request);
      if (cookie === null) return 'no-cookie';
      return matchesSecret(cookie, login.browserHash) ? login : 'other-browser';
    },
    async consume({ stateHash, encryptedSecrets }) {
      const secrets = await vault.decrypt<Secrets>(encryptedSecrets, encryptionContext(stateHash));
      // Point of no return: the state is used up.
      return (await store.consumeFederatedLogin(stateHash, clock())) ? secrets : null;
    },
    clearCookie: ({ stateHash }) => cookieFor(stateHash).clear(),
  };
}
