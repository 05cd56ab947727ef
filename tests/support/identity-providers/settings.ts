/** The configuration of the tests' identity providers. */
import type { FileConfiguration } from '@portcullis/cli';
import type { GithubIdentityProvider } from './github.ts';
import type { IdentityProvider } from './identity-provider.ts';

type IdentityProviderSetting = NonNullable<FileConfiguration['identityProviders']>[number];

/** The configuration of the GitHub-like identity provider. */
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

/** The configuration of an OpenID Connect identity provider. */
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
