/** Grants without a browser: client credentials, workload assertions, and an enterprise's identity assertion (token exchange). */
import {
  grantForm,
  JWT_BEARER,
  jsonMembers,
  type Scopes,
  TOKEN_EXCHANGE,
  TOKEN_TYPES,
} from '@portcullis/protocol';
import { type DiscoveryResult, requiresDpop } from '../discovery/discovery-result.ts';
import { requireTokenEndpoint } from '../discovery/endpoints.ts';
import { ClientError } from '../errors.ts';
import type { PrivateEcJwk } from '../signing-key.ts';
import type { Registration, Tokens } from '../storage/credentials.ts';
import {
  type EndpointRequest,
  requestJson,
  type TokenEndpointContext,
} from '../token-endpoint/endpoint-request.ts';
import { requestTokens, type TokenRequest } from '../token-endpoint/token-request.ts';
import type {
  ApplicationGrant,
  EnterpriseGrant,
  EnterpriseIdentityProvider,
  WorkloadGrant,
} from './grant-settings.ts';

/** What a grant requests, and as which client. */
export interface GrantInput {
  /** The discovered authorization server. */
  readonly discovery: DiscoveryResult;
  /** The client that requests the tokens. */
  readonly registration: Registration;
  /** The scopes to request; empty: the server decides. */
  readonly scopes: Scopes;
  /** The key to bind the token to; `null`: a bearer token. */
  readonly dpopKey: PrivateEcJwk | null;
}

interface MachineGrantInput extends GrantInput {
  /** Whether the scopes are configured: then they are not dropped when the server rejects them. */
  readonly fixedScopes: boolean;
}

export type MachineGrant = ApplicationGrant | WorkloadGrant | EnterpriseGrant;

/** Obtains tokens without a user at a browser. */
export async function requestMachineTokens(
  grant: MachineGrant,
  context: TokenEndpointContext,
  input: MachineGrantInput,
): Promise<Tokens> {
  switch (grant.kind) {
    case 'application':
      return requestApplicationTokens(context, input);
    case 'workload': {
      const assertion = await grant.assertion(input.discovery.issuer);
      return requestTokens(context, jwtBearerTokenRequest(input, assertion));
    }
    case 'enterprise':
      return requestEnterpriseTokens(grant, context, input);
  }
}

/** A challenge names scopes for all clients; an application requests those it is configured with. @see RFC 6749 §3.3 */
async function requestApplicationTokens(
  context: TokenEndpointContext,
  input: MachineGrantInput,
): Promise<Tokens> {
  try {
    return await requestTokens(context, clientCredentialsTokenRequest(input));
  } catch (error) {
    if (!isScopeRejected(error) || input.scopes.length === 0 || input.fixedScopes) throw error;
    return requestTokens(context, clientCredentialsTokenRequest({ ...input, scopes: [] }));
  }
}

function isScopeRejected(error: unknown): boolean {
  return error instanceof ClientError && error.oauthError === 'invalid_scope';
}

/** Scopes unknown to the enterprise or the authorization server are dropped: they decide what they grant. */
async function requestEnterpriseTokens(
  grant: EnterpriseGrant,
  context: TokenEndpointContext,
  input: GrantInput,
): Promise<Tokens> {
  const { identityProvider, subjectToken } = grant;
  const provider = typeof identityProvider === 'function' ? await identityProvider() : identityProvider;
  try {
    const request = identityAssertionRequest(input, provider, await subjectToken(), grant.subjectTokenType);
    const assertion = readIdentityAssertion(await requestJson(context, request));
    return await requestTokens(context, enterpriseTokenRequest(input, assertion));
  } catch (error) {
    if (!isScopeRejected(error) || input.scopes.length === 0) throw error;
    return requestEnterpriseTokens(grant, context, { ...input, scopes: [] });
  }
}

/**
 * The token request of an application on its own behalf.
 * @throws ClientError `configuration_invalid` without credentials; `metadata_invalid` without a token endpoint; `issuer_mismatch`
 * when the metadata names another issuer
 * @see RFC 6749 §4.4, OAuth 2.1 draft 13 §4.2
 */
export function clientCredentialsTokenRequest(input: GrantInput): TokenRequest {
  const { discovery, scopes, registration } = input;
  // It MUST only be used by clients that authenticate.
  if (registration.authentication === 'none')
    throw new ClientError(
      'configuration_invalid',
      `An application needs a secret, or a key and an authorization server that supports private_key_jwt: ${discovery.issuer} would get a request without credentials.`,
    );
  const target = { resource: discovery.resource, scopes };
  return grantTokenRequest(input, grantForm({ grant_type: 'client_credentials' }, target));
}

/** The request with an assertion of a platform or an identity provider. @see RFC 7523 §2.1 */
function jwtBearerTokenRequest(input: GrantInput, assertion: string): TokenRequest {
  const target = { resource: input.discovery.resource, scopes: input.scopes };
  return grantTokenRequest(input, grantForm({ grant_type: JWT_BEARER, assertion }, target));
}

/** The response names the token's resource: any other is rejected. @see draft-ietf-oauth-identity-assertion-authz-grant §4.4 */
function enterpriseTokenRequest(input: GrantInput, assertion: string): TokenRequest {
  const request = jwtBearerTokenRequest(input, assertion);
  return { ...request, expected: { ...request.expected, statedResource: requestedResource(input) } };
}

function requestedResource({ discovery }: GrantInput): string {
  return discovery.resource ?? discovery.server;
}

/** The token request of a grant with its form. @throws ClientError `metadata_invalid`, `issuer_mismatch` */
export function grantTokenRequest(input: GrantInput, form: URLSearchParams): TokenRequest {
  const { discovery, registration, scopes, dpopKey } = input;
  const { issuer, resource } = discovery;
  const endpoint = requireTokenEndpoint(discovery);
  checkAssertionAudience(discovery, registration);
  const expected = {
    requestedScopes: scopes,
    resource,
    refreshToken: null,
    scopes: null,
    requiresDpop: dpopKey !== null && requiresDpop(discovery),
  };
  return { endpoint, issuer, registration, form, dpopKey, expected };
}

/** The audience of an assertion is the requested issuer, never one that its metadata merely names. */
function checkAssertionAudience(
  { metadata, issuer }: DiscoveryResult,
  { authentication }: Registration,
): void {
  if (authentication !== 'private_key_jwt' || metadata.issuer === issuer) return;
  throw new ClientError(
    'issuer_mismatch',
    `The metadata of ${issuer} names another issuer, so no assertion is created for it.`,
  );
}

/**
 * The token exchange at the identity provider: a user's identity assertion for one that the server's own authorization
 * server accepts.
 * @see RFC 8693 §2, draft-ietf-oauth-identity-assertion-authz-grant
 */
function identityAssertionRequest(
  input: GrantInput,
  { tokenEndpoint, clientId, clientSecret }: EnterpriseIdentityProvider,
  subjectToken: string,
  subjectTokenType: EnterpriseGrant['subjectTokenType'] = 'id_token',
): EndpointRequest {
  const parameters = {
    grant_type: TOKEN_EXCHANGE,
    requested_token_type: TOKEN_TYPES.idJag,
    audience: input.discovery.issuer,
    subject_token: subjectToken,
    subject_token_type: `urn:ietf:params:oauth:token-type:${subjectTokenType}`,
  };
  const form = grantForm(parameters, { resource: requestedResource(input), scopes: input.scopes });
  const registration: Registration = {
    method: 'preregistered',
    clientId,
    clientSecret: clientSecret ?? null,
    authentication: clientSecret === undefined ? 'none' : 'client_secret_basic',
    redirectUris: [],
    secretExpiresAt: null,
  };
  return {
    endpoint: tokenEndpoint,
    issuer: new URL(tokenEndpoint).origin,
    registration,
    form,
    dpopKey: null,
  };
}

function readIdentityAssertion(json: unknown): string {
  const { access_token: assertion, issued_token_type: type } = jsonMembers(json);
  if (typeof assertion === 'string' && assertion !== '' && type === TOKEN_TYPES.idJag) return assertion;
  throw new ClientError(
    'token_response_invalid',
    'The identity provider did not respond with an identity assertion grant.',
  );
}
