/** Redirects to the authorization server of a backend and back, bound to the browser, the user and the grant. */
import type { HttpResponse } from '@portcullis/http';
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { BackendTokenVault } from './backend-tokens.ts';
import { createPendingLogins, type PendingLogins } from './pending-logins.ts';
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

export interface BackendLogins extends Omit<PendingLogins<BackendLoginSecrets>, 'save'> {
  /** @throws OAuthError `temporarily_unavailable` if the rate limit for federated logins is exceeded */
  start(
    backend: UserBackend,
    request: BackendLoginRequest,
    cookies?: readonly string[],
  ): Promise<HttpResponse | { readonly error: IdentityProviderError }>;
}

export function createBackendLogins(
  context: ServerContext,
  vault: TokenVault,
  tokens: BackendTokenVault,
): BackendLogins {
  const {
    events,
    options: { issuer },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'federatedLogins');
  const { save, ...logins } = createPendingLogins<BackendLoginSecrets>(context, vault, 'backend login');
  return {
    ...logins,
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
      const { grantId, link, accountId, transaction, until } = request;
      const about = { identityProvider: backend.id, accountId };
      if (redirect instanceof IdentityProviderError) {
        events({ type: 'identity_provider.failed', ...about, reason: redirect.message });
        return { error: redirect };
      }
      const facts = {
        ...about,
        transactionId: transaction?.id ?? null,
        returnTo: null,
        approvedScopes: transaction?.approvedScopes ?? [],
        workspace: transaction?.workspace ?? null,
      };
      const secrets = { grantId, link, secrets: redirect.secrets, skipped: transaction?.skipped ?? [] };
      const cookie = await save(facts, redirect.state, secrets, until);
      events({
        type: 'federated_login.started',
        ...about,
        ...(transaction !== null && { transactionId: transaction.id }),
      });
      return respondRedirect(redirect.url, [...cookies, cookie]);
    },
  };
}
