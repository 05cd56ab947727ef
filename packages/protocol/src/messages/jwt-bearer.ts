/** The JWT bearer grant (RFC 7523): an assertion of a trusted issuer instead of a user's consent. */

/** The grant type. @see RFC 7523 §2.1 */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The profile of the grant whose assertions an identity provider issues for a user. @see draft-ietf-oauth-identity-assertion-authz-grant */
export const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

/** The `typ` of an identity assertion JWT authorization grant (ID-JAG). */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt';
