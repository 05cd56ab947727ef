/** The types and pure rules of MCP authorization that every role shares: no I/O, no clock, no randomness. */
export {
  ACCESS_TOKEN_TYPE,
  type AccessTokenClaims,
  type AccessTokenExpectations,
  type AccessTokenInput,
  accessTokenClaims,
  checkAccessToken,
  isAccessTokenType,
  scopesOf,
} from './access-token.ts';
export { type AuthorizationHeader, readAuthorizationHeader } from './authorization-header.ts';
export {
  type AuthorizationRequest,
  type AuthorizationRequestParameters,
  authorizationRequestUrl,
  checkAuthorizationRequest,
  type Prompt,
  RESPONSE_MODES,
  RESPONSE_TYPES,
} from './authorization-request.ts';
export {
  type AuthorizationResponse,
  type AuthorizationResponseContext,
  type AuthorizationResponseExpectations,
  codeResponseUrl,
  errorResponseUrl,
  readAuthorizationResponse,
} from './authorization-response.ts';
export {
  type AuthorizationServerMetadata,
  readAuthorizationServerMetadata,
} from './authorization-server-metadata.ts';
export { createBatch } from './batch.ts';
export {
  type BearerChallenge,
  type Challenge,
  findChallenge,
  formatBearerChallenge,
  formatChallenge,
  parseChallenges,
} from './challenge.ts';
export type { ClientKeySet } from './client-keys.ts';
export {
  type ApplicationType,
  type ClientAuthenticationMethod,
  type ClientMetadata,
  openRegistrationPolicy,
  type RegistrationPolicy,
  readClientMetadata,
} from './client-metadata.ts';
export { ConfigurationError } from './configuration-error.ts';
export {
  type ErrorDocument,
  errorDocument,
  OAuthError,
  type OAuthErrorCode,
  type OAuthErrorOptions,
  sanitizeErrorText,
  temporarilyUnavailable,
  tooManyRequests,
} from './errors.ts';
export { createEs256 } from './es256.ts';
export {
  type CidrBlock,
  isInCidrBlock,
  isPublicAddress,
  isPublicHost,
  networkPrefixOf,
  parseCidrBlock,
  sitePrefixOf,
} from './ip-address.ts';
export {
  authorizationBaseUrl,
  type DefaultEndpoints,
  defaultEndpoints,
  issuerError,
  resourceMetadataUrls,
  type ServerMetadataKind,
  serverMetadataUrls,
} from './issuer.ts';
export type { ParseResult } from './json-document.ts';
export { checkJsonMembers } from './json-members.ts';
export { findSimilarName, type OptionNames, suggestName, unknownOptionIssues } from './option-names.ts';
export { type Parameters, readParameters } from './parameters.ts';
export {
  base64url,
  CODE_CHALLENGE_METHOD,
  deriveCodeChallenge,
  isCodeChallenge,
  isCodeVerifier,
  verifyCodeVerifier,
} from './pkce.ts';
export {
  combineProfiles,
  findProfile,
  type Profile,
  profileA,
  profileB,
  profileC,
  profileD,
  profiles,
  type RegistrationMethod,
  type ServerPolicy,
} from './profiles.ts';
export { type ProtectedResourceMetadata, protectedResourceMetadata } from './protected-resource-metadata.ts';
export {
  PROTOCOL_VERSION_HEADERS,
  type ProtocolVersionHeader,
  readProtocolVersion,
} from './protocol-version.ts';
export { readProtectedResourceMetadata } from './read-protected-resource-metadata.ts';
export {
  checkRedirectUri,
  matchesRedirectUri,
  type RedirectPolicy,
  type RedirectTarget,
  type RedirectUriValidation,
  strictRedirectPolicy,
  validateRedirectUri,
} from './redirect-uri.ts';
export { canonicalResource, coversResource, findResource, resourceOfServer } from './resource.ts';
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
export {
  readStatusReference,
  STATUS_LIST_MEDIA_TYPE,
  STATUS_LIST_TYPE,
  STATUS_VALID,
  type StatusReference,
} from './status-list.ts';
export {
  readTokenExchangeRequest,
  readTokenExchangeResponse,
  TOKEN_EXCHANGE,
  type TokenExchangeRequest,
  type TokenExchangeResponse,
  tokenExchangeForm,
  tokenExchangeResponse,
} from './token-exchange.ts';
export {
  type AuthorizationCodeRequest,
  authorizationCodeForm,
  type ClientCredentialsRequest,
  clientCredentialsForm,
  type GrantType,
  type RefreshRequest,
  readAuthorizationCodeRequest,
  readClientCredentialsRequest,
  readRefreshRequest,
  refreshForm,
} from './token-request.ts';
export { readTokenResponse, type TokenResponse } from './token-response.ts';
export { isLoopbackHost, isSecureUrl, readUrl, readWebUrl } from './web-url.ts';
