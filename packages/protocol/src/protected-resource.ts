/** The part of the protocol that a guard needs, without the schema library, for a fast cold start. */

export { type AuthenticationRequirement, satisfiesAcr } from './authentication.ts';
export { createBatch } from './batch.ts';
export { readBytes } from './bounded-reading.ts';
export { createDpopNonces, type DpopNonces } from './dpop/dpop-nonces.ts';
export type { ProofKey, ProofPlatform } from './dpop/proof-key.ts';
export {
  createProofVerifier,
  PROOF_ALGORITHMS,
  PROOF_WINDOW,
} from './dpop/proof-verifier.ts';
export { OAuthError, type OAuthErrorOptions, temporarilyUnavailable, tooManyRequests } from './errors.ts';
export { createEs256 } from './es256.ts';
export { issuerError, resourceMetadataUrls, serverMetadataUrls } from './issuer.ts';
export { decodeBase64url, encodeBase64url, isBase64url } from './jose/base64url.ts';
export { parseJsonSegment } from './jose/json-segment.ts';
export { isKeyOfAlgorithm, JWS_ALGORITHMS, type JwsAlgorithm } from './jose/jws-algorithms.ts';
export { createLruCache } from './lru-cache.ts';
export {
  type AccessTokenClaims,
  checkAccessToken,
  isAccessTokenType,
  scopesOf,
} from './messages/access-token.ts';
export { readAuthorizationHeader } from './messages/authorization-header.ts';
export { type BearerChallenge, formatBearerChallenge, formatChallenge } from './messages/challenge.ts';
export {
  type McpOperation,
  type OperationParameters,
  readOperationTarget,
} from './messages/mcp-operation.ts';
export {
  readStatusReference,
  STATUS_LIST_MEDIA_TYPE,
  STATUS_LIST_TYPE,
  STATUS_VALID,
} from './messages/status-list.ts';
export {
  type ProtectedResourceMetadata,
  protectedResourceMetadata,
} from './metadata/protected-resource-metadata.ts';
export { ConfigurationError, type OptionNames, unknownOptionIssues } from './option-names.ts';
export { type JsonLimits, readStrictJson } from './parsing/strict-json.ts';
export { isLoopbackHost, isSecureUrl, readUrl, readWebUrl } from './parsing/web-url.ts';
export { combineProfiles, type Profile, profiles } from './profiles.ts';
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
