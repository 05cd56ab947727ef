/** The types and pure rules of MCP authorization that every role shares: no I/O, no clock, no randomness. */

export * from './authentication.ts';
export { createBatch } from './batch.ts';
export { beforeAbort, readBytes } from './bounded-reading.ts';
export type * from './definition-pins.ts';
export * from './dpop/dpop-nonces.ts';
export type { ProofKey, ProofPlatform } from './dpop/proof-key.ts';
export * from './dpop/proof-verifier.ts';
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
export * from './issuer.ts';
export * from './jose/base64url.ts';
export * from './jose/json-segment.ts';
export {
  isKeyOfAlgorithm,
  isSameAlgorithm,
  JWS_ALGORITHMS,
  type JwsAlgorithm,
} from './jose/jws-algorithms.ts';
export { createLruCache, type LruCache } from './lru-cache.ts';
export * from './messages/access-token.ts';
export * from './messages/authorization-header.ts';
export * from './messages/authorization-request.ts';
export * from './messages/authorization-response.ts';
export * from './messages/challenge.ts';
export * from './messages/device-authorization.ts';
export * from './messages/jwt-bearer.ts';
export * from './messages/mcp-operation.ts';
export * from './messages/token-exchange.ts';
export * from './messages/token-request.ts';
export type { TokenResponse } from './messages/token-response.ts';
export type { AuthorizationServerMetadata } from './metadata/authorization-server-metadata.ts';
export type { ClientKeySet } from './metadata/client-keys.ts';
export type {
  ClientAuthenticationMethod,
  ClientMetadata,
  RegistrationPolicy,
  WorkloadIdentity,
} from './metadata/client-metadata.ts';
export * from './metadata/protected-resource-metadata.ts';
export type { ProtectedResourceMetadata } from './metadata/read-protected-resource-metadata.ts';
export * from './option-names.ts';
export * from './parsing/ip-address.ts';
export * from './parsing/long-host.ts';
export * from './parsing/nfkc.ts';
export * from './parsing/parameters.ts';
export { isDisguised, type JsonLimits, jsonMembers, readStrictJson } from './parsing/strict-json.ts';
export { isLoopbackHost, isSecureUrl, readSecureUrl, readWebUrl } from './parsing/web-url.ts';
export {
  CODE_CHALLENGE_METHOD,
  deriveCodeChallenge,
  isCodeChallenge,
  verifyCodeVerifier,
} from './pkce.ts';
export * from './profiles.ts';
export {
  checkRedirectUri,
  matchesRedirectUri,
  type RedirectPolicy,
  type RedirectTarget,
  validateRedirectUri,
} from './redirect-uri.ts';
export * from './resource.ts';
export * from './scopes.ts';
export * from './skew-tolerance.ts';
export * from './tracing.ts';
