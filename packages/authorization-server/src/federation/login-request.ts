/** Federated login requests: state, PKCE and nonce are stored and bound to the browser before it is redirected to the identity provider. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { type Cookie, defineCookie } from '../http/cookies.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { FederatedLoginSecrets, ProviderClient } from './provider/client.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import type { IdentityProvider } from './provider/identity-provider.ts';
import type { TokenVault } from './token-vault.ts';

/** What a federated login is for, and where it returns to. */
export interface FederatedLoginRequest {
  /** The authorization transaction; `null` for a login to an account page. */
  readonly transactionId: string | null;
  /** The account page; `null` for a transaction. */
  readonly returnTo: string | null;
  /** The signed-in account; `null` if there is none. */
  readonly accountId: string | null;
  /** The scopes that the user approved before the redirect. */
  readonly approvedScopes: Scopes;
  readonly workspace: string | null;
  /** Whether the user must log in again at the provider, even with a session there. */
  readonly forceLogin: boolean;
  /** Epoch seconds after which the login is no longer needed. */
  readonly until: number;
}

export interface FederatedLogins {
  /**
   * Redirects the browser to an identity provider, with a new state, PKCE verifier and nonce, and a cookie that is set only now. If
   * the provider's metadata is unavailable, nothing is stored and the error is returned.
   * @throws OAuthError `temporarily_unavailable` if the rate limit for federated logins is exceeded
   */
  start(
    identityProvider: IdentityProvider,
    request: FederatedLoginRequest,
    cookies?: readonly string[],
  ): Promise<HttpResponse | { readonly error: IdentityProviderError }>;
  /** Finds the login of a `state`, and checks that this browser started it. */
  find(request: HttpRequest, identityProvider: IdentityProvider, state: string): Promise<FoundLogin>;
  /** Consumes the login, once. */
  consume(login: FederatedLoginRecord): Promise<FederatedLoginSecrets | null>;
  /** The `Set-Cookie` value that deletes its cookie. */
  clearCookie(login: FederatedLoginRecord): string;
}

type FoundLogin = FederatedLoginRecord | 'unknown' | 'no-cookie' | 'other-browser';

/** Seconds that a login may take at the provider. @see MCP security best practices */
const LOGIN_LIFETIME = 600;

export function createFederatedLogins(
  context: ServerContext,
  vault: TokenVault,
  clientFor: (identityProvider: IdentityProvider) => ProviderClient,
): FederatedLogins {
  const {
    store,
    clock,
    events,
    options: { issuer },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'federatedLogins');
  /** Several tabs may log in at once, so each login has a cookie of its own. */
  const cookieFor = (stateHash: string): Cookie =>
    defineCookie(issuer, `federated-login-${stateHash.slice(0, 8)}`);
  return {
    async start(identityProvider, { until, forceLogin, ...request }, cookies = []) {
      await checkRateLimit(request.accountId ?? request.transactionId);
      const { id } = identityProvider;
      const { transactionId } = request;
      const [state, browser] = [newSecret(), newSecret()];
      const secrets: FederatedLoginSecrets = { verifier: newSecret(), nonce: newSecret() };
      const location = await clientFor(identityProvider)
        .authorizationUrl(request.approvedScopes, forceLogin, state, secrets)
        .catch(toIdentityProviderError);
      if (location instanceof IdentityProviderError) {
        events({ type: 'identity_provider.failed', identityProvider: id, reason: location.message });
        return { error: location };
      }
      const stateHash = hashSecret(state);
      const { ciphertext } = await vault.encrypt(secrets, loginContext(stateHash));
      const now = clock();
      const expiresAt = Math.min(now + LOGIN_LIFETIME, until);
      await store.saveFederatedLogin({
        ...request,
        stateHash,
        browserHash: hashSecret(browser),
        identityProvider: id,
        encryptedSecrets: ciphertext,
        expiresAt,
      });
      events({
        type: 'federated_login.started',
        identityProvider: id,
        ...(transactionId !== null && { transactionId }),
      });
      return respondRedirect(location, [...cookies, cookieFor(stateHash).write(browser, expiresAt - now)]);
    },
    async find(request, identityProvider, state) {
      const login = await store.findFederatedLogin(hashSecret(state), clock());
      // Mix-up attack: a response at the redirect URI of another provider MUST NOT be accepted. @see RFC 9700 §4.4.2.2
      if (login === null || login.identityProvider !== identityProvider.id) return 'unknown';
      const cookie = cookieFor(login.stateHash).read(request);
      if (cookie === null) return 'no-cookie';
      return matchesSecret(cookie, login.browserHash) ? login : 'other-browser';
    },
    async consume({ stateHash, encryptedSecrets }) {
      const secrets = await vault.decrypt<FederatedLoginSecrets>(encryptedSecrets, loginContext(stateHash));
      // Point of no return: the state is used up.
      return (await store.consumeFederatedLogin(stateHash, clock())) ? secrets : null;
    },
    clearCookie: ({ stateHash }) => cookieFor(stateHash).clear(),
  };
}

/** The encryption context of the secrets of a login. */
function loginContext(stateHash: string): string {
  return `federated login ${stateHash}`;
}
