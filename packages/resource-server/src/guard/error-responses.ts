/** Converts errors to responses that the client can act on, and to events for the operator. */
import { OAuthError } from '@portcullis/protocol';
import { type GuardResponse, jsonResponse } from '../guard-response.ts';
import type { OriginPolicy } from '../origin-policy.ts';
import type { RequestInfo } from '../request-info.ts';
import { findProtectedResource, requestPath } from '../request-path.ts';
import type { GuardSettings, ProtectedResource } from '../settings.ts';
import { challengeResponse, oauthErrorResponse, type TokenScheme } from './challenge.ts';
import { NO_HEADERS, verifiedTokenOf } from './verified-token.ts';

export type ErrorResponses = ReturnType<typeof createErrorResponses>;

/** Creates the error responses of a guard. */
export function createErrorResponses({ resources, origins, events }: GuardSettings) {
  const challenges = new Map(resources.map((resource) => [resource, challengeResponse(resource.challenge)]));

  /** The response for an error of the guard or of the application. */
  function fromError(error: unknown, requestInfo: RequestInfo): GuardResponse {
    const resource = resourceForChallenge(resources, requestInfo.url);
    if (!(error instanceof OAuthError)) {
      const reason = 'the application or its scopesFor failed';
      events({ type: 'request.failed', resource: resource.resource, reason, cause: error });
      return addCorsHeaders(INTERNAL_ERROR, origins, requestInfo);
    }
    const { status, code, reason = code } = error;
    events({ type: 'request.rejected', status, error: code, reason, resource: resource.resource });
    return addCorsHeaders(
      oauthErrorResponse(error, resource.challenge, challengedScheme(resource, requestInfo, error)),
      origins,
      requestInfo,
    );
  }

  /** The challenge for a request without a token. */
  function challenge(resource: ProtectedResource, requestInfo: RequestInfo): GuardResponse {
    const guardResponse = challenges.get(resource) ?? challengeResponse(resource.challenge);
    return addCorsHeaders(guardResponse, origins, requestInfo);
  }

  return {
    fromError,
    challenge,
    /** The same, of the resource at its path. */
    challengeFor: (requestInfo: RequestInfo): GuardResponse =>
      challenge(resourceForChallenge(resources, requestInfo.url), requestInfo),
    /**
     * The 403 for a web origin or `Host` that is not allowed; `null` for all others. Prevents DNS rebinding. MUST respond 403 to an
     * invalid Origin; without a challenge, since no token would change that.
     */
    rejectForeignOrigin({ origin, host }: RequestInfo): GuardResponse | null {
      const isForeignPage = isPresent(origin) && !origins.allows(origin);
      if (!isForeignPage && (!isPresent(host) || origins.allowsHost(host))) return null;
      const error = isForeignPage ? 'origin_not_allowed' : 'host_not_allowed';
      const reason = 'possible DNS rebinding';
      events({ type: 'request.rejected', status: 403, error, reason, resource: null });
      return jsonResponse(403, { error, error_description: NOT_ALLOWED[error] });
    },
  };
}

/** The scheme that the request used, or the only one that is accepted. */
function challengedScheme(
  { challenge }: ProtectedResource,
  { authorization, principal }: RequestInfo,
  error: OAuthError,
): TokenScheme {
  if (challenge.proofAlgorithms === null) return 'Bearer';
  if (error.authentication?.dpop === true) return 'DPoP';
  if (principal !== undefined && verifiedTokenOf(principal)?.binding?.key) return 'DPoP';
  const field = typeof authorization === 'string' ? authorization : (authorization?.[0] ?? '');
  return challenge.bearer && !/^\s*dpop(?:\s|$)/i.test(field) ? 'Bearer' : 'DPoP';
}

/** The resource to name in a challenge, also for errors before the resource was found. */
function resourceForChallenge(resources: GuardSettings['resources'], url: string): ProtectedResource {
  try {
    return findProtectedResource(resources, requestPath(url)) ?? resources[0];
  } catch {
    return resources[0];
  }
}

export function isPresent<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

/** CORS headers for the application's response. */
export function corsHeaders(
  origins: OriginPolicy,
  { origin }: RequestInfo,
): Readonly<Record<string, string>> {
  return isPresent(origin) && origins.allows(origin) ? origins.corsHeadersFor(origin) : NO_HEADERS;
}

/** Adds CORS headers to a response of the guard. */
function addCorsHeaders(
  guardResponse: GuardResponse,
  origins: OriginPolicy,
  requestInfo: RequestInfo,
): GuardResponse {
  return isPresent(requestInfo.origin)
    ? { ...guardResponse, headers: { ...guardResponse.headers, ...corsHeaders(origins, requestInfo) } }
    : guardResponse;
}

const NOT_ALLOWED = {
  origin_not_allowed: 'Pages of this origin may not call this server. Its operator can allow the origin.',
  host_not_allowed: 'This server does not accept this Host. Its operator can allow it.',
} as const;

const INTERNAL_ERROR: GuardResponse = jsonResponse(500, {
  error: 'server_error',
  error_description: 'The server failed to process the request. Contact its operator.',
});
