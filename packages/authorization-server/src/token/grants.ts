/** The table of grants: what the token endpoint does, and what the metadata documents list. */
import type { GrantType } from '@portcullis/protocol';
import { createAuthorizationCodeGrant } from './authorization-code.ts';
import { createClientCredentialsGrant } from './client-credentials.ts';
import type { Grant, GrantHands } from './grant.ts';
import { createRefreshGrant } from './refresh.ts';

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
