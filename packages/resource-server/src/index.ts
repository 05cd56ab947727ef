/** Guard for a protected MCP server: authorizes each request by its access token (RFC 6750, RFC 9728). */

export {
  type AuthenticationRequirement,
  ConfigurationError,
  type JwsAlgorithm,
  type McpOperation,
} from '@portcullis/protocol';
export type { DpopOptions } from './dpop/dpop-options.ts';
export type { ReplayStore } from './dpop/replay-cache.ts';
export type { GuardEvent } from './events.ts';
export { createGuard, type Guard, type GuardDecision, type RequestInfo } from './guard.ts';
export type { GuardResponse } from './guard-response.ts';
export type { GuardOptions, ResourceOptions, SharedGuardOptions } from './options.ts';
export { isAnonymous, type Principal, type VerifiedClaims } from './principal.ts';
export {
  createHandleTable,
  createSignedHandles,
  type HandleTable,
  type SignedHandles,
} from './session-binding/handles.ts';
export { dangerouslyAcceptAudiences, dangerouslyAcceptTypes } from './verifiers/check-claims.ts';
export { combineVerifiers, confirmVerifier } from './verifiers/combined-verifier.ts';
export {
  type IntrospectionVerifierOptions,
  introspectionVerifier,
} from './verifiers/introspection-verifier.ts';
export { type JwtVerifierOptions, jwtVerifier } from './verifiers/jwt-verifier.ts';
export { opaqueTokenVerifier } from './verifiers/opaque-token-verifier.ts';
export type { KeySet } from './verifiers/public-keys.ts';
export type { TokenExpectation, TokenVerifier, VerificationResult } from './verifiers/token-verifier.ts';
