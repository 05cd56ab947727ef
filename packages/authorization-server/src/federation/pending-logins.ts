/** Logins elsewhere until their callback: found by `state`, bound to the browser that started them, and used up once. */
import { type HttpRequest, type HttpResponse, queryOf, withCookies } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { type Cookie, defineCookie } from '../http/cookies.ts';
import type { PageErrors } from '../http/error-pages.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import type { TokenVault } from './token-vault.ts';

/** What the callback needs to know, besides the secrets. */
type LoginFacts = Omit<FederatedLoginRecord, 'stateHash' | 'browserHash' | 'encryptedSecrets' | 'expiresAt'>;

/** A login that starts. */
interface LoginStart {
  readonly facts: LoginFacts;
  /** Members by which its events name it. */
  readonly about:
    | { readonly identityProvider: string }
    | { readonly backend: string; readonly accountId: string };
  /** Epoch seconds after which it is no longer needed. */
  readonly until: number;
  /** `Set-Cookie` values that the redirect carries as well. */
  readonly cookies: readonly string[];
}

/** The redirect of the browser, or why its destination is unavailable. */
export type StartedLogin = HttpResponse | { readonly error: IdentityProviderError };

/** The redirect of the browser. */
interface LoginRedirect<Secrets> {
  readonly url: string;
  /** The `state` parameter. */
  readonly state: string;
  readonly secrets: Secrets;
}

/** Why there is no login for a response, for the audit log. */
export const LOGIN_ENDED = 'the login was completed, or has expired';

/** Seconds that a login may take elsewhere. @see MCP security best practices */
const LOGIN_LIFETIME = 600;

/** @param purpose is part of the encryption context: the secrets of one purpose cannot be read as those of another */
export function createPendingLogins<Secrets extends object>(
  context: ServerContext,
  vault: TokenVault,
  purpose: 'federated login' | 'backend login',
) {
  const { store, clock, events } = context;
  const checkRateLimit = createRateLimitCheck(context, 'federatedLogins');
  /** Several tabs may log in at once, so each login has a cookie of its own. */
  const cookieFor = (stateHash: string): Cookie =>
    defineCookie(context.options.issuer, `federated-login-${stateHash.slice(0, 8)}`);
  const destination = purpose === 'federated login' ? 'identityProvider' : 'backend';
  const encryptionContext = (stateHash: string) => `${purpose} ${stateHash}`;

  /** Stores the login, with its secrets encrypted. @returns the `Set-Cookie` value that binds it to the browser */
  const save = async (facts: LoginFacts, { state, secrets }: LoginRedirect<Secrets>, until: number) => {
    const stateHash = hashSecret(state);
    const { ciphertext: encryptedSecrets } = await vault.encrypt(secrets, encryptionContext(stateHash));
    const browser = newSecret();
    const now = clock();
    const expiresAt = Math.min(now + LOGIN_LIFETIME, until);
    const browserHash = hashSecret(browser);
    await store.saveFederatedLogin({ ...facts, stateHash, browserHash, encryptedSecrets, expiresAt });
    return cookieFor(stateHash).write(browser, expiresAt - now);
  };

  return {
    /**
     * Redirects the browser, with a cookie that is set only now. If the destination is unavailable, nothing is stored and the error
     * is returned.
     * @param begin makes the redirect. Throws `IdentityProviderError`
     * @throws OAuthError `temporarily_unavailable` if the rate limit for federated logins is exceeded
     */
    async start(
      { facts, about, until, cookies }: LoginStart,
      begin: () => Promise<LoginRedirect<Secrets>>,
    ): Promise<StartedLogin> {
      const { accountId, transactionId } = facts;
      await checkRateLimit(accountId ?? transactionId);
      const redirect = await begin().catch(toIdentityProviderError);
      if (redirect instanceof IdentityProviderError) {
        events({ type: 'identity_provider.failed', ...about, reason: redirect.message });
        return { error: redirect };
      }
      const cookie = await save(facts, redirect, until);
      events({
        type: 'federated_login.started',
        ...about,
        ...(transactionId !== null && { transactionId }),
      });
      return respondRedirect(redirect.url, [...cookies, cookie]);
    },
    /** Handles the response of an identity provider or a backend, if this browser started its login, and deletes the cookie. */
    async receive(
      errors: PageErrors,
      request: HttpRequest,
      { id, endpoint }: { readonly id: string; readonly endpoint: string },
      complete: (login: FederatedLoginRecord, state: string) => Promise<HttpResponse>,
    ): Promise<HttpResponse> {
      const state = readParameters(queryOf(request)).one('state') ?? '';
      const login = await store.findFederatedLogin(hashSecret(state), clock());
      // Mix-up attack: a response at the redirect URI of another provider MUST NOT be accepted. @see RFC 9700 §4.4.2.2
      if (login === null || login[destination] !== id)
        return errors.show(endpoint, 'gone', { reason: LOGIN_ENDED });
      const cookie = cookieFor(login.stateHash);
      const browser = cookie.read(request);
      // A response that this browser did not request (login CSRF) is not used.
      if (browser === null) return errors.show(endpoint, 'no-cookie');
      if (!matchesSecret(browser, login.browserHash)) return errors.show(endpoint, 'other-browser');
      return withCookies(await complete(login, state), [cookie.clear()]);
    },
    /** Consumes the login, once. */
    async consume({ stateHash, encryptedSecrets }: FederatedLoginRecord): Promise<Secrets | null> {
      const secrets = await vault.decrypt<Secrets>(encryptedSecrets, encryptionContext(stateHash));
      // Point of no return: the state is used up.
      return (await store.consumeFederatedLogin(stateHash, clock())) ? secrets : null;
    },
  };
}
