/** The grant types of this server by their names: for whoever allows or lists them, and grants nothing. */
import { type GrantType, TOKEN_EXCHANGE } from '@portcullis/protocol';
import type { ServerOptions } from './options.ts';

/** What a grant type needs of the configuration. */
type Needs = (options: Pick<ServerOptions, 'identityProviders' | 'servesUsers'>) => boolean;

const nothing: Needs = () => true;
const users: Needs = ({ servesUsers }) => servesUsers;

/** One entry each, as in the table of the token endpoint. Without third parties there is nothing to exchange a token for. */
const needs: Readonly<Record<GrantType, Needs>> = {
  authorization_code: users,
  refresh_token: users,
  client_credentials: nothing,
  [TOKEN_EXCHANGE]: ({ identityProviders }) => identityProviders.size > 0,
};

/** All that there are: what an operator may allow a client. */
export const grantTypes: readonly string[] = Object.keys(needs);

/** Those that this server serves: what the metadata documents list. */
export function servedGrantTypes(
  options: Pick<ServerOptions, 'identityProviders' | 'servesUsers'>,
): readonly string[] {
  return Object.entries(needs).flatMap(([type, isMet]) => (isMet(options) ? [type] : []));
}
