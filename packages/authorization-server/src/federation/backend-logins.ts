/** Redirects to the authorization server of a backend and back, bound to the browser, the user and the grant. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { type Cookie, defineCookie } from '../http/cookies.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { BackendTokenVault } from './backend-tokens.ts';
import { appKeyOf, backendDocumentUrl, backendRedirectUri, type UserBackend } from './provider/backend.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import type { TokenVault } from './token-vault.ts';

/** What a connection is for. */
interface BackendLoginRequest {
  /** The grant that will use the tokens; in a transaction, the one that its code will create. */
  readonly grantId: string;
  /** The client that the grant is for. */
  readonly clientId: string;
  /** The signed-in user. Another user in the callback is rejected. */
  readonly accountId: string;
  /** Requested besides those that the backend names. */
  readonly scopes: Scopes;
  /** The waiting transaction; `null`: a link of the gateway was opened. */
  readonly transaction: {
    readonly id: string;
    readonly approvedScopes: Scopes;
    readonly workspace: string | null;
    /** Backends that the user has not connected in this transaction, and is not asked for again. */
    readonly skipped: readonly string[];
  } | null;
  /** The link that was opened; `null` in a transaction. */
  readonly link: string | null;
  /** Epoch seconds after which it is no longer needed. */
  readonly until: number;
}

/** Kept, encrypted, until the callback. */
export interface BackendLoginSecrets extends Pick<BackendLoginRequest, 'grantId' | 'link'> {
  /** Of the backend's client. */
  readonly secrets: object;
  readonly skipped: readonly string[];
}

export interface BackendLogins {
  /** @throws OAuthError `temporarily_unavailable` if the rate limit for federated logins is exceeded */
  start(
    backend: UserBackend,
    request: BackendLoginRequest,
    cookies?: readonly string[],
  ): Promise<HttpResponse | { readonly error: IdentityProviderError }>;
  /** Finds the login of a `state`, and checks that this browser started it. */
  find(
    request: HttpRequest,
    backend: UserBackend,
    state: string,
  ): Promise<FederatedLoginRecord | 'unknown' | 'no-cookie' | 'other-browser'>;
  /** Consumes the login, once. */
  consume(login: FederatedLoginRecord): Promise<BackendLoginSecrets | null>;
  clearCookie(login: FederatedLoginRecord): string;
}

/** Seconds that a login may take at the backend. */
const LOGIN_LIFETIME = 600;

export function createBackendLogins(
  context: ServerContext,
  vault: TokenVault,
  tokens: BackendTokenVault,
): BackendLogins {
  const {
    store,
    clock,
    events,
    options: { issuer },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'federatedLogins');
  const cookieFor = (stateHash: string): Cookie =>
    defineCookie(issuer, `federated-login-${stateHash.slice(0, 8)}`);

  async function save(backend: UserBackend, request: BackendLoginRequest, state: string, secrets: object) {
    const browser = newSecret();
    const stateHash = hashSecret(state);
    const { grantId, link, accountId, transaction, until } = request;
    const content: BackendLoginSecrets = { grantId, link, secrets, skipped: transaction?.skipped ?? [] };
    const { ciphertext } = await vault.encrypt(content, loginContext(stateHash));
    const now = clock();
    const expiresAt = Math.min(now + LOGIN_LIFETIME, until);
    await store.saveFederatedLogin({
      transactionId: transaction?.id ?? null,
      returnTo: null,
      accountId,
      approvedScopes: transaction?.approvedScopes ?? [],
      workspace: transaction?.workspace ?? null,
      stateHash,
      browserHash: hashSecret(browser),
      identityProvider: backend.id,
      encryptedSecrets: ciphertext,
      expiresAt,
    });
    return cookieFor(stateHash).write(browser, expiresAt - now);
  }

  return {
    async start(backend, request, cookies = []) {
      await checkRateLimit(request.accountId);
      const redirect = await backend
        .begin({
          redirectUri: backendRedirectUri(issuer, backend.id),
          documentUrl: backendDocumentUrl(issuer, backend.id, appKeyOf(request.clientId)),
          scopes: request.scopes,
          registrations: tokens.registrationsOf(backend, request.clientId),
        })
        .catch(toIdentityProviderError);
      const about = { identityProvider: backend.id, accountId: request.accountId };
      if (redirect instanceof IdentityProviderError) {
        events({ type: 'identity_provider.failed', ...about, reason: redirect.message });
        return { error: redirect };
      }
      const cookie = await save(backend, request, redirect.state, redirect.secrets);
      events({
        type: 'federated_login.started',
        ...about,
        ...(request.transaction !== null && { transactionId: request.transaction.id }),
      });
      return respondRedirect(redirect.url, [...cookies, cookie]);
    },
    async find(request, backend, state) {
      const login = await store.findFederatedLogin(hashSecret(state), clock());
      // Mix-up attack: a response at the redirect URI of another backend MUST NOT be accepted. @see RFC 9700 §4.4.2.2
      if (login === null || login.identityProvider !== backend.id) return 'unknown';
      const cookie = cookieFor(login.stateHash).read(request);
      if (cookie === null) return 'no-cookie';
      return matchesSecret(cookie, login.browserHash) ? login : 'other-browser';
    },
    async consume({ stateHash, encryptedSecrets }) {
      const secrets = await vault.decrypt<BackendLoginSecrets>(encryptedSecrets, loginContext(stateHash));
      // Point of no return: the state is used up.
      return (await store.consumeFederatedLogin(stateHash, clock())) ? secrets : null;
    },
    clearCookie: ({ stateHash }) => cookieFor(stateHash).clear(),
  };
}

/** The encryption context of the secrets of a login. */
function loginContext(stateHash: string): string {
  return `backend login ${stateHash}`;
}
