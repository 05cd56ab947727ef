/** Provider tokens as refresh and revocation see them. */
import type { ProviderTokensRecord } from '../store/index.ts';
import type { ProviderClient } from './provider/client.ts';
import {
  type FederationContext,
  findTokenIssuer,
  type IdentityProvider,
} from './provider/identity-provider.ts';
import { type ProviderTokenSet, providerTokensContext } from './provider/token-set.ts';
import type { TokenRecords } from './token-records.ts';

export type ProviderTokenRecords = TokenRecords<ProviderTokensRecord, ProviderTokenSet>;

export function createProviderTokenRecords(
  { store, options: { identityProviders } }: Pick<FederationContext, 'store' | 'options'>,
  clientFor: (identityProvider: IdentityProvider) => ProviderClient,
): ProviderTokenRecords {
  return {
    keyOf: ({ grantId }) => grantId,
    encryptionContext: ({ grantId }) => providerTokensContext(grantId),
    about: ({ grantId, accountId, identityProvider }) => ({ identityProvider, grantId, accountId }),
    findIssuer(tokens) {
      const identityProvider = findTokenIssuer(identityProviders, tokens);
      return identityProvider === undefined ? undefined : clientFor(identityProvider);
    },
    find: ({ grantId }) => store.findProviderTokens(grantId),
    lease: ({ grantId, version }, ...lease) => store.leaseProviderTokens(grantId, version, ...lease),
    saveRefreshed: ({ grantId }, ...refreshed) => store.saveRefreshedProviderTokens(grantId, ...refreshed),
    release: ({ grantId }, ...lease) => store.releaseProviderTokens(grantId, ...lease),
    end: ({ grantId, version }, ...ended) => store.endProviderTokens(grantId, version, ...ended),
    async isShared({ identityProvider, issuer, subject, grantId }) {
      if (identityProviders.get(identityProvider)?.revocationEnds !== 'everything') return false;
      return (await store.countProviderTokensOfIdentity(issuer, subject, grantId)) > 0;
    },
    endOfRevokedGrants: store.endProviderTokensOfRevokedGrants,
    claimRevocations: store.claimRevocationJobs,
    postponeRevocation: ({ grantId }, until) => store.postponeRevocationJob(grantId, until),
    completeRevocation: ({ grantId, version }) => store.completeRevocationJob(grantId, version),
  };
}
