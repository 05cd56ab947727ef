/**
 * The protocol steps for hosts with their own transport: `…Request` creates a request as data, `process…Response` validates
 * its response. Nothing here sends, waits or stores; it runs wherever WebCrypto does. Other types are in the main entry.
 */
export { clientCredentialsTokenRequest } from './authorization/machine-grants.ts';
export { authorizationRequest, type StartedAuthorization } from './authorization/request.ts';
export { codeTokenRequest, processAuthorizationResponse } from './authorization/response.ts';
export { planScopes } from './authorization/scope-plan.ts';
export { challengeRequest, processChallengeResponse } from './discovery/challenge.ts';
export { buildDiscoveryResult, selectProfile } from './discovery/discovery-result.ts';
export { processResourceMetadataResponse, resourceMetadataRequests } from './discovery/resource-metadata.ts';
export { processServerMetadataResponse, serverMetadataRequests } from './discovery/server-metadata.ts';
export { createDpopKey } from './dpop.ts';
export { processRegistrationResponse, registrationRequest } from './registration/dynamic-registration.ts';
export { findPreregistered, metadataDocumentRegistration } from './registration/register.ts';
export { type ClientContext, createClientContext } from './token-endpoint/client-context.ts';
export { authenticatedRequest } from './token-endpoint/endpoint-request.ts';
export { processRevocationResponse, revocationRequests } from './token-endpoint/revocation.ts';
export {
  processTokenResponse,
  refreshTokenRequest,
  type TokenRequest,
  type TokenResult,
} from './token-endpoint/token-request.ts';
export { isStale } from './token-endpoint/token-response.ts';
export { processProtectedResourceResponse, protectedResourceHeaders } from './tokens/protected-resource.ts';
export type { OAuthRequest, OAuthResponse } from './transport.ts';
