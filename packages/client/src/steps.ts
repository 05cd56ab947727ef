/**
 * The plain steps of every flow as pairs: `ask…` writes a request as data, `understand…` judges its answer. Nothing here
 * sends anything, waits, or keeps anything; it runs wherever WebCrypto does.
 */
export type { Pending } from './authorization/pending.ts';
export {
  askAuthorization,
  type RequestFacts,
  type StartedFlow,
} from './authorization/request.ts';
export { codeRequest, understandAuthorization } from './authorization/response.ts';
export { planScopes, planStepUp, type ScopePlan, type ScopeSettings } from './authorization/scope-plan.ts';
export { authorize, type CallAnswer, understandCall } from './calls/protected-request.ts';
export {
  askServer,
  NO_CHALLENGE,
  readServerChallenge,
  type ServerChallenge,
  understandServer,
} from './discovery/challenge.ts';
export {
  chooseWay,
  concludeDiscovery,
  type Discovery,
  type Exceptions,
  type Way,
} from './discovery/conclude.ts';
export {
  askResourceMetadata,
  askServerMetadata,
  type DocumentSettings,
  understandResourceMetadata,
  understandServerMetadata,
} from './discovery/discover.ts';
export { createDpopKey } from './dpop/proof.ts';
export { ClientError, type ClientErrorCode } from './errors.ts';
export {
  askDeviceAuthorization,
  type DeviceAuthorization,
  deviceRequest,
  deviceTokenRequest,
  understandDeviceAuthorization,
} from './grants/device.ts';
export {
  applicationRequest,
  askAssertion,
  assertionRequest,
  type ExchangeSettings,
  exchangeRequest,
  type GrantFacts,
  understandAssertion,
} from './grants/machine.ts';
export { readSigningKey, type SigningKey } from './keys/signing-key.ts';
export {
  askRegistration,
  type RegistrationAsk,
  type RegistrationRequest,
  understandRegistration,
} from './registration/dynamic.ts';
export { findPreregistered, useMetadataDocument } from './registration/register.ts';
export type { Registration, RegistrationSettings } from './registration/registration.ts';
export { askStanding, type RegistrationStanding, understandStanding } from './registration/standing.ts';
export { createProver, type Prover, type ProverOptions } from './tokens/prover.ts';
export {
  askRevocation,
  type RevocationFacts,
  type RevocationRequest,
  revocationRequests,
  understandRevocation,
} from './tokens/revocation.ts';
export {
  askTokens,
  refreshRequest,
  type TokenAnswer,
  type TokenRequest,
  understandTokens,
} from './tokens/token-request.ts';
export { isExpired, isStale, type Tokens } from './tokens/tokens.ts';
export type { Answer, Ask } from './transport.ts';
