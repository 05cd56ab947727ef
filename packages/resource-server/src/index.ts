/** Guard for a protected MCP server: admits or refuses a request by its access token. */
export type { GuardAnswer } from './answers.ts';
export type { CertificateOptions } from './certificates.ts';
export { ConfigurationError } from './configuration-error.ts';
export type { DpopOptions } from './dpop/options.ts';
export { createReplayMemory, type ReplayMemoryLimits, type ReplayStore } from './dpop/replays.ts';
export type { GuardEvent, GuardEventSink } from './events.ts';
export { type Admission, createGuard, type Facts, type Guard } from './guard.ts';
export {
  createHandleSeal,
  createHandleTable,
  type HandleSeal,
  type HandleTable,
  type HandleTableOptions,
  principalKey,
} from './handles.ts';
export type { ReadBody } from './needed-scopes.ts';
export { type Operation, readOperations } from './operations.ts';
export type { GuardOptions, GuardSettings, ResourceOptions } from './options.ts';
export type { Origins } from './origins.ts';
export type { Principal, VerifiedClaims } from './principal.ts';
export type { StreamOptions } from './stream-options.ts';
export type { Watch } from './streams.ts';
export { dangerouslyTakeAudiences, dangerouslyTakeTypes, type ForeignTokens } from './tokens/claims.ts';
export { combineVerifiers } from './tokens/combined-verifier.ts';
export { confirmVerifier } from './tokens/confirmed-verifier.ts';
export { type IntrospectionVerifierOptions, introspectionVerifier } from './tokens/introspection-verifier.ts';
export { type JwtVerifierOptions, jwtVerifier } from './tokens/jwt-verifier.ts';
export type { KeyLimits } from './tokens/key-source.ts';
export type { Algorithm, KeySet } from './tokens/public-keys.ts';
export type { StatusListOptions } from './tokens/status-lists.ts';
export type { TokenExpectation, TokenVerifier, VerifiedToken } from './verifier.ts';
