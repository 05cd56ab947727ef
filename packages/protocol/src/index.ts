/** The types and pure rules of MCP authorization that every role shares: no I/O, no clock, no randomness. */

export {
  type AuthenticationRequirement,
  acrOf,
  ONE_FACTOR,
  satisfiesAcr,
  TWO_FACTORS,
  type UserAuthentication,
} from './authentication.ts';
export { createBatch } from './batch.ts';
export { beforeAbort, readBytes } from './bounded-reading.ts';
export type {
  DefinitionList,
  DefinitionPinRecord,
  DefinitionPinStore,
  ListedDefinition,
  PendingDefinitionRecord,
  WholeDefinition,
} from './definition-pins.ts';
export { combineDpopNonces, createDpopNonces, type DpopNonces } from './dpop/dpop-nonces.ts';
export type { ProofKey, ProofPlatform } from './dpop/proof-key.ts';
export {
  createProofVerifier,
  PROOF_ALGORITHMS,
  PROOF_WINDOW,
  type VerifiedProof,
} from './dpop/proof-verifier.ts';
export {
  errorDocument,
  invalidMetadata,
  OAuthError,
  type OAuthErrorCode,
  type OAuthErrorOptions,
  temporarilyUnavailable,
  tokenRejected,
  tooManyRequests,
} from './errors.ts';
export { createEs256 } from './es256.ts';
export {
  authorizationBaseUrl,
  defaultEndpoints,
  issuerError,
  resourceMetadataUrls,
  type ServerMetadataKind,
  serverMetadataUrls,
} from './issuer.ts';
export {
  decodeBase64url,
  encodeBase64url,
  isBase64url,
} from './jose/base64url.ts';
export { parseJsonSegment } from './jose/json-segment.ts';
export {
  isKeyOfAlgorithm,
  isSameAlgorithm,
  JWS_ALGORITHMS,
  type JwsAlgorithm,
} from './jose/jws-algorithms.ts';
export { createLruCache, type LruCache } from './lru-cache.ts';
export {
  ACCESS_TOKEN_TYPE,
  type AccessTokenClaims,
  type Actor,
  accessTokenClaims,
  checkAccessToken,
  isAccessTokenType,
  scopesOf,
  USER_CLAIMS,
  type UserClaim,
} from './messages/access-token.ts';
export {
  basicCredentials,
  readAuthorizationHeader,
  readTokenScheme,
} from './messages/authorization-header.ts';
export {
  AUTHORIZATION_PARAMETERS,
  type AuthorizationRequest,
  authorizationRequestUrl,
  checkAuthorizationRequest,
  type Prompt,
  RESPONSE_MODES,
  RESPONSE_TYPES,
} from './messages/authorization-request.ts';
export {
  type AuthorizationResponseContext,
  codeResponseUrl,
  errorResponseUrl,
  readAuthorizationResponse,
} from './messages/authorization-response.ts';
export {
  type BearerChallenge,
  type Challenge,
  findChallenge,
  formatBearerChallenge,
  formatChallenge,
  parseChallenges,
} from './messages/challenge.ts';
export { DEVICE_CODE, type DeviceAuthorizationResponse } from './messages/device-authorization.ts';
export { ID_JAG_PROFILE, ID_JAG_TYPE, JWT_BEARER } from './messages/jwt-bearer.ts';
export {
  AROUND_OPERATIONS,
  type McpOperation,
  type OperationParameters,
  readOperationTarget,
} from './messages/mcp-operation.ts';
export {
  readStatusReference,
  STATUS_LIST_MEDIA_TYPE,
  STATUS_LIST_TYPE,
  STATUS_VALID,
  type StatusReference,
} from './messages/status-list.ts';
export {
  readTokenExchangeRequest,
  TOKEN_EXCHANGE,
  TOKEN_TYPES,
  type TokenExchangeRequest,
  type TokenExchangeResponse,
  tokenExchangeForm,
  tokenExchangeResponse,
} from './messages/token-exchange.ts';
export {
  authorizationCodeForm,
  type GrantType,
  grantForm,
  type RequestedAccess,
  readAuthorizationCodeRequest,
  readRequestedAccess,
  refreshForm,
} from './messages/token-request.ts';
export type { TokenResponse } from './messages/token-response.ts';
export type { AuthorizationServerMetadata } from './metadata/authorization-server-metadata.ts';
export type { ClientKeySet } from './metadata/client-keys.ts';
export type {
  ClientAuthenticationMethod,
  ClientMetadata,
  RegistrationPolicy,
  WorkloadIdentity,
} from './metadata/client-metadata.ts';
export { protectedResourceMetadata } from './metadata/protected-resource-metadata.ts';
export type { ProtectedResourceMetadata } from './metadata/read-protected-resource-metadata.ts';
export {
  ConfigurationError,
  findSimilarName,
  numberIssues,
  type OptionNames,
  suggestName,
  unknownOptionIssues,
} from './option-names.ts';
export {
  type CidrBlock,
  isInCidrBlock,
  isPublicAddress,
  isPublicHost,
  networkPrefixOf,
  parseCidrBlock,
  sitePrefixOf,
} from './parsing/ip-address.ts';
export { hasLongHost } from './parsing/long-host.ts';
export { toNfkc } from './parsing/nfkc.ts';
export { type Parameters, readParameters } from './parsing/parameters.ts';
export { isDisguised, type JsonLimits, jsonMembers, readStrictJson } from './parsing/strict-json.ts';
export { isLoopbackHost, isSecureUrl, readSecureUrl, readWebUrl } from './parsing/web-url.ts';
export {
  CODE_CHALLENGE_METHOD,
  deriveCodeChallenge,
  isCodeChallenge,
  verifyCodeVerifier,
} from './pkce.ts';
export {
  combineProfiles,
  findProfile,
  PROTOCOL_VERSION_HEADERS,
  type Profile,
  type ProtocolVersionHeader,
  profileA,
  profileB,
  profileC,
  profileD,
  profiles,
  type RegistrationMethod,
  readProtocolVersion,
} from './profiles.ts';
export {
  checkRedirectUri,
  matchesRedirectUri,
  type RedirectPolicy,
  type RedirectTarget,
  validateRedirectUri,
} from './redirect-uri.ts';
export {
  canonicalResource,
  coversResource,
  findResource,
  matchResource,
  resourceOfServer,
} from './resource.ts';
export {
  formatScopes,
  impliedScopes,
  intersectScopes,
  isScope,
  missingScopes,
  readLenientScopes,
  readRequestedScopes,
  readScopes,
  type ScopeHierarchy,
  type Scopes,
  unionScopes,
} from './scopes.ts';
export { SKEW_TOLERANCE } from './skew-tolerance.ts';
export {
  currentTracer,
  inHttpSpan,
  inSpan,
  readTraceContext,
  registerTracer,
  type Span,
  type SpanStart,
  startEndpointSpan,
  startSpan,
  type TraceContext,
  type Tracer,
} from './tracing.ts';
