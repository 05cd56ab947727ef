/** The supported grant types by name, and what each requires of the options. */
import { DEVICE_CODE, type GrantType, JWT_BEARER, TOKEN_EXCHANGE } from '@portcullis/protocol';

interface GrantOptions {
  readonly servesUsers: boolean;
  readonly deviceAuthorization: boolean;
  readonly identityProviders: { readonly size: number };
  readonly assertionIssuers: readonly unknown[];
  readonly assertionAudiences: readonly unknown[];
  readonly resources: ReadonlyMap<string, { readonly exchangeTargets?: readonly string[] | undefined }>;
}

/** Whether the options enable a grant type. */
type Requirement = (options: GrantOptions) => boolean;

const nothing: Requirement = () => true;
const users: Requirement = ({ servesUsers }) => servesUsers;

/** One entry each, as in the table of the token endpoint. Token exchange needs an identity provider. */
const requirements: Readonly<Record<GrantType, Requirement>> = {
  authorization_code: users,
  refresh_token: users,
  client_credentials: nothing,
  [TOKEN_EXCHANGE]: ({ identityProviders, assertionAudiences, resources }) =>
    identityProviders.size > 0 ||
    assertionAudiences.length > 0 ||
    [...resources.values()].some(({ exchangeTargets = [] }) => exchangeTargets.length > 0),
  [DEVICE_CODE]: ({ servesUsers, deviceAuthorization }) => servesUsers && deviceAuthorization,
  [JWT_BEARER]: ({ assertionIssuers }) => assertionIssuers.length > 0,
};

/** All grant types that a client can be allowed to use. */
export const grantTypes: readonly string[] = Object.keys(requirements);

/** The enabled grant types, as listed in the metadata. */
export function servedGrantTypes(options: GrantOptions): readonly string[] {
  return Object.entries(requirements).flatMap(([type, isMet]) => (isMet(options) ? [type] : []));
}
