/**
 * The plain steps of every flow: `ask…` writes a request, `understand…` judges its answer. Nothing here
 * sends anything, waits, or keeps anything; it runs wherever WebCrypto does.
 */

export {
  askDeviceAuthorization,
  type DeviceAuthorization,
  deviceAuthorizationRequest,
  deviceCodeTokenRequest,
  processDeviceAuthorizationResponse,
} from './authorization/device-authorization.ts';
export {
  askAssertion,
  clientCredentialsTokenRequest,
  type GrantRequestInput,
  type IdentityAssertionSettings,
  identityAssertionRequest,
  jwtBearerTokenRequest,
  processIdentityAssertionResponse,
} from './authorization/machine-grants.ts';
export type { PendingAuthorization } from './authorization/pending.ts';
export {
  type AuthorizationRequestInput,
  authorizationRequest,
  type StartedAuthorization,
} from './authorization/request.ts';
export { codeTokenRequest, processAuthorizationResponse } from './authorization/response.ts';
export { planScopes, planStepUp, type ScopePlan, type ScopeSettings } from './authorization/scope-plan.ts';
export {
  challengeRequest,
  NO_CHALLENGE,
  processChallengeResponse,
  readServerChallenge,
  type ServerChallenge,
} from './discovery/challenge.ts';
export {
  type MetadataRequestOptions,
  processResourceMetadataResponse,
  processServerMetadataResponse,
  resourceMetadataRequests,
  serverMetadataRequests,
} from './discovery/discover.ts';
export {
  buildDiscoveryResult,
  type DiscoveryExceptions,
  type DiscoveryResult,
  type ProfileSelection,
  selectProfile,
} from './discovery/discovery-result.ts';
export { createDpopKey } from './dpop/proof.ts';
export { ClientError, type ClientErrorCode } from './errors.ts';
export {
  type DynamicRegistrationRequest,
  processRegistrationResponse,
  type RegistrationRequestBody,
  registrationRequest,
} from './registration/dynamic.ts';
export { findPreregistered, metadataDocumentRegistration } from './registration/register.ts';
export type { Registration, RegistrationSettings } from './registration/registration.ts';
export {
  processReadRegistrationResponse,
  type RegistrationStatus,
  readRegistrationRequest,
} from './registration/registration-status.ts';
export { type ClientSigningKey, readSigningKey } from './signing-key.ts';
export {
  type ClientContext,
  type ClientContextOptions,
  createClientContext,
} from './token-endpoint/client-context.ts';
export {
  askRevocation,
  processRevocationResponse,
  type RevocationInput,
  type RevocationRequest,
  revocationRequests,
} from './token-endpoint/revocation.ts';
export {
  askTokens,
  processTokenResponse,
  refreshTokenRequest,
  type TokenRequest,
  type TokenResult,
} from './token-endpoint/token-request.ts';
export { isExpired, isStale, type Tokens } from './token-endpoint/token-response.ts';
export {
  type ProtectedResourceResult,
  processProtectedResourceResponse,
  protectedResourceHeaders,
} from './tokens/protected-resource.ts';
export type { OAuthRequest, OAuthResponse } from './transport.ts';
