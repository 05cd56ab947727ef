/** How the third parties of the tests stand in a configuration file. */
import type { FileConfiguration } from '@portcullis/cli';
import type { GithubThirdParty } from './github.ts';
import type { ThirdParty } from './third-party.ts';

type ThirdPartySetting = NonNullable<FileConfiguration['thirdParties']>[number];

/** How the third party like GitHub stands in a configuration file. */
export function likeGithub(party: GithubThirdParty): ThirdPartySetting {
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
      person: { subject: 'id', name: 'login' },
      dialect: 'github',
    },
    clientId: party.client.id,
    clientSecret: party.client.secret,
    scopes: ['read:user'],
    neededFor: { 'repositories:read': ['repo'] },
    noticedWithin: 1,
  };
}

/** How an OpenID Connect third party stands in a configuration file. */
export function likeOidc(party: ThirdParty, said: Partial<ThirdPartySetting> = {}): ThirdPartySetting {
  return {
    id: 'company',
    name: 'Company',
    kind: { issuer: party.origin },
    clientId: party.client.id,
    clientSecret: party.client.secret,
    scopes: ['openid', 'offline_access', 'email', 'files:read'],
    parameters: { prompt: 'consent' },
    noticedWithin: 1,
    ...said,
  };
}
