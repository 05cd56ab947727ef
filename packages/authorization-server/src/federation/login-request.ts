/** Federated login requests: state, PKCE and nonce are stored and bound to the browser before it is redirected to the identity provider. */
import type { ServerContext } from '../context.ts';
import { newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { createPendingLogins, type StartedLogin } from './pending-logins.ts';
import type { FederatedLoginSecrets, ProviderClient } from './provider/client.ts';
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

export function createFederatedLogins(
  context: ServerContext,
  vault: TokenVault,
  clientFor: (identityProvider: IdentityProvider) => ProviderClient,
) {
  const { start, ...logins } = createPendingLogins<FederatedLoginSecrets>(context, vault, 'federated login');
  return {
    ...logins,
    /** Starts the login with a new state, PKCE verifier and nonce. The metadata of the identity provider may be unavailable. */
    start(
      identityProvider: IdentityProvider,
      { until, forceLogin, ...request }: FederatedLoginRequest,
      cookies: readonly string[] = [],
    ): Promise<StartedLogin> {
      const { id, provider } = identityProvider;
      const facts = { ...request, identityProvider: id, backend: null };
      return start({ facts, about: { identityProvider: id }, until, cookies }, async () => {
        const state = newSecret();
        const secrets = { verifier: newSecret(), nonce: newSecret(), issuer: provider.issuer };
        const client = clientFor(identityProvider);
        const url = await client.authorizationUrl(request.approvedScopes, forceLogin, state, secrets);
        return { url, state, secrets };
      });
    },
  };
}
