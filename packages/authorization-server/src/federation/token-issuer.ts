/** The issuer of a grant's tokens, an identity provider or a backend, as liveness, refresh and revocation need it. */
import type { ProviderClient } from './provider/client.ts';
import type { IdentityProvider } from './provider/identity-provider.ts';

export interface TokenIssuer extends Pick<IdentityProvider, 'id' | 'statusCheckInterval' | 'revocationEnds'> {
  readonly client: Pick<ProviderClient, 'refresh' | 'checkStatus' | 'revoke'>;
}

/** Finds the issuer by its identifier; `undefined` if it is no longer configured. */
export type FindTokenIssuer = (id: string) => TokenIssuer | undefined;
