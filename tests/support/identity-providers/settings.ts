/** How the third parties of the tests stand in a configuration file. */
import type { FileConfiguration } from '@portcullis/cli';
import type { GithubIdentityProvider } from './github.ts';
import type { IdentityProvider } from './identity-provider.ts';

type IdentityProviderSetting = NonNullable<FileConfiguration['identityProviders']>[number];

/** How the third party like GitHub stands in a configuration file. */
export function likeGithub(party: GithubIdentityProvider): IdentityProviderSetting {
  return {
    id: 'github',
    name: 'GitHub',
    kind: {
      endpoints: {
        authorization: party.authorizationEndpoint,
        token: party.tokenEndpoint,
        userinfo: `${party.api}/user`,
        revocation: `${party.api}/applications`,
      },
      userinfoClaims: { subject: 'id', name: 'login' },
      responseFormat: 'github',
    },
    clientId: party.client.id,
    clientSecret: party.client.secret,
    scopes: ['read:user'],
    upstreamScopes: { 'repositories:read': ['repo'] },
    statusCheckInterval: 1,
  };
}

/** How an OpenID Connect third party stands in a configuration file. */
export function likeOidc(
  party: IdentityProvider,
  said: Partial<IdentityProviderSetting> = {},
): IdentityProviderSetting {
  return {
    id: 'company',
    name: 'Company',
    kind: { issuer: party.origin },
    clientId: party.client.id,
    clientSecret: party.client.secret,
    scopes: ['openid', 'offline_access', 'email', 'files:read'],
    parameters: { prompt: 'consent' },
    statusCheckInterval: 1,
    ...said,
  };
}
