/** The JWT bearer grant (RFC 7523): an assertion of a trusted issuer instead of a user's consent. */
import type { Parameters } from '../parsing/parameters.ts';
import { readRequestedScopes, type Scopes } from '../scopes.ts';

/** The grant type. @see RFC 7523 §2.1 */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The profile of the grant whose assertions an identity provider issues for a user. @see draft-ietf-oauth-identity-assertion-authz-grant */
export const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

/** The `typ` of an identity assertion JWT authorization grant (ID-JAG). */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt';

/** A request of the JWT bearer grant. @see RFC 7523 §2.1 */
export interface JwtBearerRequest {
  readonly assertion: string;
  /** `null`: all that the assertion allows. */
  readonly scopes: Scopes | null;
  /** Every `resource`, as sent. */
  readonly resources: readonly string[];
}

/**
 * Parses a request of the JWT bearer grant.
 * @throws OAuthError `invalid_request` without an assertion, `invalid_scope`
 * @see RFC 7523 §2.1
 */
export function readJwtBearerRequest(parameters: Parameters): JwtBearerRequest {
  return {
    assertion: parameters.required('assertion'),
    scopes: readRequestedScopes(parameters.one('scope')),
    resources: parameters.all('resource'),
  };
}
