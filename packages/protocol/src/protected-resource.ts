/** The part of the protocol that a guard needs, without the schema library, for a fast cold start. */
export { type AccessTokenClaims, checkAccessToken, isAccessTokenType, scopesOf } from './access-token.ts';
export { readAuthorizationHeader } from './authorization-header.ts';
export { createBatch } from './batch.ts';
export { type BearerChallenge, formatBearerChallenge, formatChallenge } from './challenge.ts';
export { ConfigurationError } from './configuration-error.ts';
export { OAuthError, type OAuthErrorOptions, temporarilyUnavailable, tooManyRequests } from './errors.ts';
export { createEs256 } from './es256.ts';
export { issuerError, resourceMetadataUrls, serverMetadataUrls } from './issuer.ts';
export { checkJsonMembers } from './json-members.ts';
export { type OptionNames, unknownOptionIssues } from './option-names.ts';
export { combineProfiles, type Profile, profiles } from './profiles.ts';
export { type ProtectedResourceMetadata, protectedResourceMetadata } from './protected-resource-metadata.ts';
export { canonicalResource } from './resource.ts';
export {
  formatScopes,
  impliedScopes,
  isScope,
  readLenientScopes,
  type ScopeHierarchy,
  type Scopes,
  unionScopes,
} from './scopes.ts';
export {
  readStatusReference,
  STATUS_LIST_MEDIA_TYPE,
  STATUS_LIST_TYPE,
  STATUS_VALID,
} from './status-list.ts';
export { isLoopbackHost, isSecureUrl, readUrl, readWebUrl } from './web-url.ts';
