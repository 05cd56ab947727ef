/** Federated login requests: state, PKCE and nonce are stored and bound to the browser before it is redirected to the identity provider. */
import type { HttpResponse } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import { createPendingLogins, type PendingLogins } from './pending-logins.ts';
import type { FederatedLoginSecrets, ProviderClient } from './provider/client.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import type { IdentityProvider } from './provider/identity-provider.ts';
import type { TokenVault } from './token-vault.ts';

/** What a federated login is for, and where it returns to. */
export interface FederatedLoginRequest
  extends Pick<
    FederatedLoginRecord,
    'transactionId' | 'returnTo' | 'accountId' | 'approvedScopes' | 'workspace'
  > {
  /** Whether the user must log in again at the provider, even with a session there. */
  readonly forceLogin: boolean;
  /** Epoch seconds after which the login is no longer needed. */
  readonly until: number;
}

export interface FederatedLogins extends Omit<PendingLogins<FederatedLoginSecrets>, 'save'> {
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
}

export function createFederatedLogins(
  context: ServerContext,
  vault: TokenVault,
  clientFor: (identityProvider: IdentityProvider) => ProviderClient,
): FederatedLogins {
  const { events } = context;
  const checkRateLimit = createRateLimitCheck(context, 'federatedLogins');
  const { save, ...logins } = createPendingLogins<FederatedLoginSecrets>(context, vault, 'federated login');
  return {
    ...logins,
    async start(identityProvider, { until, forceLogin, ...request }, cookies = []) {
      await checkRateLimit(request.accountId ?? request.transactionId);
      const { id, provider } = identityProvider;
      const { transactionId } = request;
      const state = newSecret();
      const secrets: FederatedLoginSecrets = {
        verifier: newSecret(),
        nonce: newSecret(),
        issuer: provider.issuer,
      };
      const location = await clientFor(identityProvider)
        .authorizationUrl(request.approvedScopes, forceLogin, state, secrets)
        .catch(toIdentityProviderError);
      if (location instanceof IdentityProviderError) {
        events({ type: 'identity_provider.failed', identityProvider: id, reason: location.message });
        return { error: location };
      }
      const cookie = await save({ ...request, identityProvider: id, backend: null }, state, secrets, until);
      events({
        type: 'federated_login.started',
        identityProvider: id,
        ...(transactionId !== null && { transactionId }),
      });
      return respondRedirect(location, [...cookies, cookie]);
    },
  };
}
