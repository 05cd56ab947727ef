/** The table of grants: what the token endpoint does. */
import { type GrantType, TOKEN_EXCHANGE } from '@portcullis/protocol';
import { servedGrantTypes } from '../grant-types.ts';
import { createAuthorizationCodeGrant } from './authorization-code.ts';
import { createClientCredentialsGrant } from './client-credentials.ts';
import type { GrantHandler, GrantServices } from './grant.ts';
import { createRefreshGrant } from './refresh-token.ts';
import { createTokenExchangeGrant } from './token-exchange.ts';

const grants: Readonly<Record<GrantType, (hands: GrantServices) => GrantHandler>> = {
  authorization_code: createAuthorizationCodeGrant,
  refresh_token: createRefreshGrant,
  client_credentials: createClientCredentialsGrant,
  [TOKEN_EXCHANGE]: createTokenExchangeGrant,
};

export function createGrantHandlers(hands: GrantServices): ReadonlyMap<string, GrantHandler> {
  const served = servedGrantTypes(hands.context.options);
  const entries = Object.entries(grants).filter(([type]) => served.includes(type));
  return new Map(entries.map(([type, create]) => [type, create(hands)]));
}
