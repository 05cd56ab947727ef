/** The table of grants: what the token endpoint does, and what the metadata documents list. */
import { type GrantType, TOKEN_EXCHANGE } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { createAuthorizationCodeGrant } from './authorization-code.ts';
import { createClientCredentialsGrant } from './client-credentials.ts';
import type { Grant, GrantHands } from './grant.ts';
import { createRefreshGrant } from './refresh.ts';
import { createTokenExchangeGrant } from './token-exchange.ts';

const grants: Readonly<Record<GrantType, (hands: GrantHands) => Grant>> = {
  authorization_code: createAuthorizationCodeGrant,
  refresh_token: createRefreshGrant,
  client_credentials: createClientCredentialsGrant,
  [TOKEN_EXCHANGE]: createTokenExchangeGrant,
};

/** The grant types of the table: what an operator may allow a client. */
export const grantTypes: readonly string[] = Object.keys(grants);

/** The grant types that this server serves: without third parties there is nothing to exchange a token for. */
export function servedGrantTypes({ thirdParties }: Pick<Configuration, 'thirdParties'>): readonly string[] {
  return grantTypes.filter((type) => type !== TOKEN_EXCHANGE || thirdParties.size > 0);
}

export function createGrants(hands: GrantHands): ReadonlyMap<string, Grant> {
  const served = servedGrantTypes(hands.configuration);
  const entries = Object.entries(grants).filter(([type]) => served.includes(type));
  return new Map(entries.map(([type, create]) => [type, create(hands)]));
}
