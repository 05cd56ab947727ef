/** The table of grants: what the token endpoint does. */
import { type GrantType, TOKEN_EXCHANGE } from '@portcullis/protocol';
import { servedGrantTypes } from '../grant-types.ts';
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

export function createGrants(hands: GrantHands): ReadonlyMap<string, Grant> {
  const served = servedGrantTypes(hands.configuration);
  const entries = Object.entries(grants).filter(([type]) => served.includes(type));
  return new Map(entries.map(([type, create]) => [type, create(hands)]));
}
