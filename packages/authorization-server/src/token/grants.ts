/** The table of grants: what the token endpoint does, and what the metadata documents list. */
import type { GrantType, Parameters, TokenResponse } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/authenticate.ts';
import type { Configuration } from '../configuration.ts';
import { createAuthorizationCodeGrant } from './authorization-code.ts';
import { createClientCredentialsGrant } from './client-credentials.ts';
import type { Mint } from './mint.ts';
import { createRefreshGrant } from './refresh.ts';
import type { RefreshTokens } from './refresh-tokens.ts';

/** Serves a request of a proven client that registered this grant. Throws `OAuthError`. */
export type Grant = (client: AuthenticatedClient, form: Parameters) => Promise<TokenResponse>;

/** What grants work with. */
export interface GrantHands {
  readonly configuration: Configuration;
  readonly mint: Mint;
  readonly refreshTokens: RefreshTokens;
}

const grants: Readonly<Record<GrantType, (hands: GrantHands) => Grant>> = {
  authorization_code: createAuthorizationCodeGrant,
  refresh_token: createRefreshGrant,
  client_credentials: createClientCredentialsGrant,
};

/** The grant types of the table. */
export const grantTypes: readonly string[] = Object.keys(grants);

export function createGrants(hands: GrantHands): ReadonlyMap<string, Grant> {
  return new Map(Object.entries(grants).map(([type, create]) => [type, create(hands)]));
}
