/** The authorization of one request: from request info to a principal, or to the response that rejects it. */
import {
  currentTracer,
  OAuthError,
  type Scopes,
  type Span,
  sitePrefixOf,
  startSpan,
} from '@portcullis/protocol';
import type { ProofOfPossession } from '../dpop/proof-of-possession.ts';
import { type GuardResponse, jsonResponse } from '../guard-response.ts';
import type { Principal } from '../principal.ts';
import type { RequestInfo } from '../request-info.ts';
import { findProtectedResource, hasQueryToken, requestPath } from '../request-path.ts';
import type { GuardSettings, ProtectedResource } from '../settings.ts';
import type { ChargeBody } from './body-budget.ts';
import { checkClientCertificate } from './client-certificate.ts';
import { corsHeaders, type ErrorResponses, isPresent } from './error-responses.ts';
import type { PublicResponses } from './public-responses.ts';
import { findRequirements, isPublicRequest, readsBody, staticScopes } from './required-scopes.ts';
import { checkUserAuthentication } from './user-authentication.ts';
import {
  type Authorized,
  checkNotRevoked,
  type TokenAuthenticator,
  type VerifiedToken,
  verifiedTokenOf,
} from './verified-token.ts';

/** The request is authorized, with headers for the application's response, or rejected with a response. */
export type GuardDecision = Authorized | { readonly authorized: false; readonly response: GuardResponse };

/** What the authorization of a request uses. */
export interface AuthorizationServices {
  readonly settings: GuardSettings;
  readonly authenticator: TokenAuthenticator;
  /** `null` if DPoP is not enabled. */
  readonly proofOfPossession: ProofOfPossession | null;
  /** `null` for no limit. */
  readonly chargeBody: ChargeBody | null;
  readonly errorResponses: ErrorResponses;
  readonly publicResponses: PublicResponses;
}

/**
 * Authorizes a request, in this order: preflight, origin, token, scopes. Protocol version, method and body are left
 * to the application. Synchronous if nothing has to be awaited; neither throws nor rejects.
 */
export function authorizeRequest(
  services: AuthorizationServices,
  requestInfo: RequestInfo,
): GuardDecision | Promise<GuardDecision> {
  const span = startGuardSpan();
  if (span === null) return authorize(services, requestInfo);
  const decision = span.run(() => authorize(services, requestInfo));
  if (decision instanceof Promise) return decision.then((later) => endGuardSpan(span, later));
  return endGuardSpan(span, decision);
}

/** The span of an authorization, in that of its request. `null`: nothing is traced, or the request has no span. */
function startGuardSpan(): Span | null {
  const tracer = currentTracer();
  if (tracer === null || tracer.active() === null) return null;
  return startSpan(
    () => 'authorize',
    () => ({ kind: 'internal' }),
  );
}

/** A refusal is no failure of the guard; a token that could not be checked is one. */
function endGuardSpan(span: Span, decision: GuardDecision): GuardDecision {
  if (decision.authorized) {
    span.set({ 'portcullis.decision': 'allowed', 'portcullis.resource': decision.principal.resource });
    span.end();
    return decision;
  }
  const { status } = decision.response;
  span.set({ 'portcullis.decision': 'refused', 'http.response.status_code': status });
  span.end(status >= 500 ? String(status) : null);
  return decision;
}

function authorize(
  services: AuthorizationServices,
  requestInfo: RequestInfo,
): GuardDecision | Promise<GuardDecision> {
  try {
    return authorizeCached(services, requestInfo);
  } catch (error) {
    return services.proofOfPossession === null
      ? { authorized: false, response: services.errorResponses.fromError(error, requestInfo) }
      : rejectAsync(services, error, requestInfo);
  }
}

function authorizeCached(
  services: AuthorizationServices,
  requestInfo: RequestInfo,
): GuardDecision | Promise<GuardDecision> {
  const { settings, authenticator, publicResponses } = services;
  const path = requestPath(requestInfo.url);
  const given = publicResponses.findForGuardedPath(path, requestInfo);
  if (given !== null) return { authorized: false, response: given };
  const resource = findProtectedResource(settings.resources, path);
  if (resource === null) return { authorized: false, response: NOT_FOUND };
  checkTokenTransport(requestInfo);
  const known = findEarlierToken(resource, requestInfo);
  const verifiedToken = known ?? authenticator.authenticate(resource, requestInfo);
  if (verifiedToken === null) return authorizeAnonymous(services, resource, requestInfo);
  if (verifiedToken instanceof Promise || needsAsyncCheck(resource, verifiedToken, requestInfo)) {
    return authorizeAsync(
      services,
      { resource, found: verifiedToken, isProven: known !== null },
      requestInfo,
    );
  }
  // The common case: the token is cached and nothing has to be awaited.
  checkScopes(settings, verifiedToken, staticScopes(resource, requestInfo.scopes));
  if (!isPresent(requestInfo.origin)) return verifiedToken.decision;
  const headers = corsHeaders(settings.origins, requestInfo);
  return { authorized: true, principal: verifiedToken.principal, headers };
}

/** A token that is sent has to be valid, of whatever scheme: it never becomes an anonymous request. */
function authorizeAnonymous(
  services: AuthorizationServices,
  resource: ProtectedResource,
  requestInfo: RequestInfo,
): GuardDecision | Promise<GuardDecision> {
  const { settings, errorResponses, chargeBody } = services;
  const { anonymous } = resource;
  const challenge = (): GuardDecision => ({
    authorized: false,
    response: errorResponses.challenge(resource, requestInfo),
  });
  const allow = (principal: Principal): GuardDecision => ({
    authorized: true,
    principal,
    headers: corsHeaders(settings.origins, requestInfo),
  });
  const { authorization, url, address } = requestInfo;
  if (anonymous === null || isPresent(authorization) || hasQueryToken(url)) return challenge();
  const site = sitePrefixOf(address ?? '') ?? '';
  const charge = (bytes: number) => chargeBody?.({ issuer: '', subject: site }, bytes, settings.clock());
  return isPublicRequest(resource, requestInfo, { limit: settings.bodyLimit, charge }).then(
    (isPublic) => (isPublic ? allow(anonymous) : challenge()),
    (error) => rejectAsync(services, error, requestInfo),
  );
}

/** A request that has to wait for something. */
interface PendingAuthorization {
  readonly resource: ProtectedResource;
  readonly found: VerifiedToken | Promise<VerifiedToken>;
  /** Whether the same request was already authorized by an earlier guard. */
  readonly isProven: boolean;
}

async function authorizeAsync(
  services: AuthorizationServices,
  { resource, found, isProven }: PendingAuthorization,
  requestInfo: RequestInfo,
): Promise<GuardDecision> {
  const { settings, proofOfPossession, chargeBody } = services;
  try {
    const verifiedToken = found instanceof Promise ? await found : found;
    // Neither can be cached.
    if (!isProven && resource.verifier.isLive !== undefined) await checkNotRevoked(verifiedToken);
    if (!isProven && verifiedToken.binding !== null)
      await checkPossession(services, resource, verifiedToken, requestInfo);
    if (!readsBody(resource, requestInfo))
      checkScopes(settings, verifiedToken, staticScopes(resource, requestInfo.scopes));
    else {
      const { clock, clockTolerance, bodyLimit: limit } = settings;
      const charge = (bytes: number) => chargeBody?.(verifiedToken.principal, bytes, clock());
      const { scopes, authentication } = await findRequirements(resource, requestInfo, { limit, charge });
      checkScopes(settings, verifiedToken, scopes);
      checkUserAuthentication(verifiedToken, authentication, clock(), clockTolerance);
    }
    const headers = corsHeaders(settings.origins, requestInfo);
    const isNonceDue = typeof verifiedToken.binding?.key === 'string' && proofOfPossession !== null;
    return {
      authorized: true,
      principal: verifiedToken.principal,
      headers: isNonceDue ? await proofOfPossession.addNonce(headers) : headers,
    };
  } catch (error) {
    return rejectAsync(services, error, requestInfo);
  }
}

/** Checks possession of the key or certificate that the token is bound to. */
async function checkPossession(
  { settings: { certificates }, proofOfPossession }: AuthorizationServices,
  resource: ProtectedResource,
  { accessToken: token, binding }: VerifiedToken,
  requestInfo: RequestInfo,
): Promise<void> {
  if (binding !== null && binding.certificate !== null && certificates !== null)
    await checkClientCertificate(binding.certificate, certificates, requestInfo);
  if (binding !== null && binding.key !== null)
    await proofOfPossession?.check({ token, thumbprint: binding.key }, resource, requestInfo);
}

async function rejectAsync(
  { errorResponses, proofOfPossession }: AuthorizationServices,
  error: unknown,
  requestInfo: RequestInfo,
): Promise<GuardDecision> {
  const refusal = errorResponses.fromError(error, requestInfo);
  return {
    authorized: false,
    response: proofOfPossession === null ? refusal : await proofOfPossession.addNonceToError(refusal, error),
  };
}

/** The verified token of an earlier guard, if a route requires more than the guard before it. */
function findEarlierToken(resource: ProtectedResource, { principal }: RequestInfo): VerifiedToken | null {
  const verifiedToken = principal === undefined ? undefined : verifiedTokenOf(principal);
  return verifiedToken?.resource === resource ? verifiedToken : null;
}

/** Whether revocation, proof of possession or the body has to be awaited. */
function needsAsyncCheck(
  resource: ProtectedResource,
  { binding }: VerifiedToken,
  requestInfo: RequestInfo,
): boolean {
  return resource.verifier.isLive !== undefined || binding !== null || readsBody(resource, requestInfo);
}

/** A request MUST NOT present its token in more than one way. @see RFC 6750 §2 */
function checkTokenTransport({ authorization, url }: RequestInfo): void {
  if (isPresent(authorization) && hasQueryToken(url)) {
    throw new OAuthError('invalid_request', 'Send the access token only in the Authorization header.', {
      reason: 'token in header and query',
    });
  }
}

/**
 * Checks scopes. @throws OAuthError `insufficient_scope` naming every scope that the operation requires. @see RFC
 * 6750 §3.1
 */
function checkScopes(
  { events }: GuardSettings,
  { principal, effectiveScopes: effective }: VerifiedToken,
  needed: Scopes,
): void {
  if (hasAllScopes(effective, needed)) return;
  const { resource, issuer, subject, clientId, grantId, claims, scopes: granted } = principal;
  const about = { resource, issuer, subject, clientId, grantId, tokenId: String(claims['jti']) };
  events({ type: 'scopes.missing', ...about, needed, granted });
  throw new OAuthError('insufficient_scope', 'The access token lacks scopes that this operation requires.', {
    scopes: needed,
    reason: 'scopes are missing',
  });
}

function hasAllScopes(effective: ReadonlySet<string>, needed: Scopes): boolean {
  for (const scope of needed) if (!effective.has(scope)) return false;
  return true;
}

const NOT_FOUND: GuardResponse = jsonResponse(404, {
  error: 'not_found',
  error_description: 'There is no protected resource at this path.',
});
