/** Grants without a browser: the application itself, a workload, an enterprise's person. One entry each in a table. */
import { clientCredentialsForm, formatScopes, type Scopes } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { requireTokenEndpoint } from '../discovery/endpoints.ts';
import { ClientError } from '../errors.ts';
import type { PrivateEcJwk } from '../jwk.ts';
import type { Registration } from '../registration/registration.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import {
  authenticatedRequest,
  type EndpointRequest,
  grantedBy,
  requestJson,
  type TokenEndpointContext,
} from '../token-endpoint/endpoint-request.ts';
import { requestTokens, type TokenRequest } from '../token-endpoint/token-request.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { OAuthRequest, OAuthResponse } from '../transport.ts';
import type {
  ApplicationGrant,
  EnterpriseGrant,
  EnterpriseIdentityProvider,
  WorkloadGrant,
} from './grant-settings.ts';

/** What a grant asks for, and as whom. */
export interface GrantRequestInput {
  readonly discovery: DiscoveryResult;
  readonly registration: Registration;
  readonly scopes: Scopes;
  /** The key that the token is to be bound to; `null`: a bearer token. */
  readonly dpopKey: PrivateEcJwk | null;
}

/** What a grant works with. */
export interface GrantContext extends GrantRequestInput {
  readonly hands: TokenEndpointContext;
  /** Whether the program itself has chosen the scopes: then it gets these, or hears that it may not have them. */
  readonly isChosen: boolean;
}

/** Which identity provider is asked, and what it is shown. */
export interface IdentityAssertionSettings extends Pick<EnterpriseGrant, 'subjectTokenType'> {
  readonly identityProvider: EnterpriseIdentityProvider;
}

export type MachineGrant = ApplicationGrant | WorkloadGrant | EnterpriseGrant;

/** The grant type and the identity-assertion profile by the names of the wire. */
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

/** Gets tokens by a grant that needs nobody at a browser. */
export async function requestMachineTokens(grant: MachineGrant, situation: GrantContext): Promise<Tokens> {
  const { hands } = situation;
  switch (grant.kind) {
    case 'application':
      return obtainForItself(situation);
    case 'workload': {
      const assertion = await grant.assertion(situation.discovery.issuer);
      return requestTokens(hands, jwtBearerTokenRequest(situation, assertion));
    }
    case 'enterprise':
      return obtainForUser(grant, situation);
  }
}

/** A server names the scopes of everybody; an application that was registered for fewer gets those that it has. @see RFC 6749 §3.3 */
async function obtainForItself(situation: GrantContext): Promise<Tokens> {
  const { hands, scopes, isChosen } = situation;
  try {
    return await requestTokens(hands, clientCredentialsTokenRequest(situation));
  } catch (error) {
    if (!isScopeRefused(error) || scopes.length === 0 || isChosen) throw error;
    return requestTokens(hands, clientCredentialsTokenRequest({ ...situation, scopes: [] }));
  }
}

function isScopeRefused(error: unknown): boolean {
  return error instanceof ClientError && error.oauthError === 'invalid_scope';
}

/** Where the enterprise or the authorization server does not know the scopes, it is left to them what they give. */
async function obtainForUser(grant: EnterpriseGrant, situation: GrantContext): Promise<Tokens> {
  const { hands, scopes } = situation;
  const { identityProvider, subjectTokenType } = grant;
  const provider = typeof identityProvider === 'function' ? await identityProvider() : identityProvider;
  const settings = {
    identityProvider: provider,
    ...(subjectTokenType !== undefined && { subjectTokenType }),
  };
  try {
    const request = identityAssertionRequest(situation, settings, await grant.subjectToken());
    const assertion = readAssertion(await requestJson(hands, request));
    return await requestTokens(hands, jwtBearerTokenRequest(situation, assertion));
  } catch (error) {
    if (!isScopeRefused(error) || scopes.length === 0) throw error;
    return obtainForUser(grant, { ...situation, scopes: [] });
  }
}

/** The request of an application on its own behalf. @see OAuth 2.1 draft 13 §4.2 */
export function clientCredentialsTokenRequest(facts: GrantRequestInput): TokenRequest {
  const { discovery, scopes } = facts;
  return grantTokenRequest(facts, clientCredentialsForm({ resource: discovery.resource, scopes }));
}

/** The request with somebody else's assertion: a platform's, or an identity provider's. @see RFC 7523 §2.1 */
export function jwtBearerTokenRequest(facts: GrantRequestInput, assertion: string): TokenRequest {
  const form = withResource(facts, new URLSearchParams({ grant_type: JWT_BEARER, assertion }));
  if (facts.scopes.length > 0) form.set('scope', formatScopes(facts.scopes));
  return grantTokenRequest(facts, form);
}

/** A request for tokens by a form. */
export function grantTokenRequest(facts: GrantRequestInput, form: URLSearchParams): TokenRequest {
  const { discovery, registration, scopes, dpopKey } = facts;
  const { issuer, resource } = discovery;
  const endpoint = requireTokenEndpoint(discovery);
  checkAudience(discovery, registration);
  const expected = { requestedScopes: scopes, resource, refreshToken: null, scopes: null };
  return { endpoint, issuer, registration, form, dpopKey, expected };
}

/** An assertion is made for the issuer that was asked, never for one that its document merely names. */
function checkAudience({ metadata, issuer }: DiscoveryResult, { authentication }: Registration): void {
  if (authentication !== 'private_key_jwt' || metadata.issuer === issuer) return;
  throw new ClientError(
    'issuer_mismatch',
    `The metadata of ${issuer} names another issuer, so no assertion is made for it.`,
  );
}

/** Adds the resource that the token is for, where the profile names it. */
export function withResource(
  { discovery }: Pick<GrantRequestInput, 'discovery'>,
  form: URLSearchParams,
): URLSearchParams {
  if (discovery.resource !== null) form.set('resource', discovery.resource);
  return form;
}

/**
 * The request that exchanges a person's identity assertion, at the identity provider, for one that the server's own
 * authorization server accepts.
 * @see RFC 8693 §2, draft-ietf-oauth-identity-assertion-authz-grant
 */
export function identityAssertionRequest(
  { discovery, scopes }: Pick<GrantRequestInput, 'discovery' | 'scopes'>,
  { identityProvider, subjectTokenType = 'id_token' }: IdentityAssertionSettings,
  subjectToken: string,
): EndpointRequest {
  const { tokenEndpoint, clientId, clientSecret } = identityProvider;
  const form = new URLSearchParams({
    grant_type: TOKEN_EXCHANGE,
    requested_token_type: ID_JAG,
    audience: discovery.issuer,
    resource: discovery.resource ?? discovery.server,
    subject_token: subjectToken,
    subject_token_type: `urn:ietf:params:oauth:token-type:${subjectTokenType}`,
  });
  if (scopes.length > 0) form.set('scope', formatScopes(scopes));
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

/** Writes the exchange as it is to be sent. */
export function askAssertion(prover: ClientContext, request: EndpointRequest): Promise<OAuthRequest> {
  return authenticatedRequest(prover, request);
}

/**
 * Understands the answer: the assertion for `assertionRequest`.
 * @throws ClientError `token_refused`, `token_response_invalid`, or an outage.
 */
export function processIdentityAssertionResponse(
  prover: ClientContext,
  request: EndpointRequest,
  answer: OAuthResponse,
): string {
  return readAssertion(grantedBy(prover, request, answer));
}

function readAssertion(json: unknown): string {
  const document =
    typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
  const assertion = document['access_token'];
  if (typeof assertion === 'string' && assertion !== '' && document['issued_token_type'] === ID_JAG)
    return assertion;
  throw new ClientError(
    'token_response_invalid',
    'The identity provider answered without an identity assertion grant.',
  );
}
