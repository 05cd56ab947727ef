/** How a guard says no: to the client in an answer that it can act on, to the operator in an event. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { type GuardResponse, jsonResponse } from '../guard-response.ts';
import type { OriginPolicy } from '../origin-policy.ts';
import type { RequestInfo } from '../request-info.ts';
import { findProtectedResource, requestPath } from '../request-path.ts';
import type { GuardSettings, ProtectedResource } from '../settings.ts';
import { challengeResponse, oauthErrorResponse, type TokenScheme } from './challenge.ts';
import { NO_HEADERS, verifiedTokenOf } from './verified-token.ts';

export interface ErrorResponses {
  /** For a request without a token. */
  challenge(resource: ProtectedResource, requestInfo: RequestInfo): GuardResponse;
  /** For a page or a host name that may not reach this server; `null` for all others. */
  rejectForeignOrigin(requestInfo: RequestInfo): GuardResponse | null;
  /** For an error, of the guard or of the application behind it. */
  fromError(error: unknown, requestInfo: RequestInfo): GuardResponse;
}

/** Creates what says no. */
export function createErrorResponses({ resources, origins, events }: GuardSettings): ErrorResponses {
  const challenges = new Map(resources.map((resource) => [resource, challengeResponse(resource.challenge)]));

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
      oauthErrorResponse(error, resource.challenge, challengedScheme(resource, requestInfo)),
      origins,
      requestInfo,
    );
  }

  return {
    fromError,
    challenge(resource, requestInfo) {
      const guardResponse = challenges.get(resource) ?? challengeResponse(resource.challenge);
      return addCorsHeaders(guardResponse, origins, requestInfo);
    },
    // MUST answer 403 to an invalid Origin; without a challenge, since no token would change it.
    rejectForeignOrigin({ origin, host }) {
      const isForeignPage = isPresent(origin) && !origins.allows(origin);
      if (!isForeignPage && (!isPresent(host) || origins.allowsHost(host))) return null;
      const [error, guardResponse] = isForeignPage ? ORIGIN_NOT_ALLOWED : HOST_NOT_ALLOWED;
      events({
        type: 'request.rejected',
        status: 403,
        error,
        reason: 'possible DNS rebinding',
        resource: null,
      });
      return guardResponse;
    },
  };
}

/** The scheme that the request tried, or the only one that would do. */
function challengedScheme(
  { challenge }: ProtectedResource,
  { authorization, principal }: RequestInfo,
): TokenScheme {
  if (challenge.proofAlgorithms === null) return 'Bearer';
  if (principal !== undefined && verifiedTokenOf(principal)?.binding?.key) return 'DPoP';
  const field = typeof authorization === 'string' ? authorization : (authorization?.[0] ?? '');
  return challenge.bearer && !/^\s*dpop(?:\s|$)/i.test(field) ? 'Bearer' : 'DPoP';
}

/** For the challenge of a refusal, also of one that came before the resource was known. */
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

/** Headers that let the page that called read the answer of the application. */
export function corsHeaders(
  origins: OriginPolicy,
  { origin }: RequestInfo,
): Readonly<Record<string, string>> {
  return isPresent(origin) && origins.allows(origin) ? origins.corsHeadersFor(origin) : NO_HEADERS;
}

/** Lets the page that called read the answer. */
function addCorsHeaders(
  guardResponse: GuardResponse,
  origins: OriginPolicy,
  requestInfo: RequestInfo,
): GuardResponse {
  return isPresent(requestInfo.origin)
    ? { ...guardResponse, headers: { ...guardResponse.headers, ...corsHeaders(origins, requestInfo) } }
    : guardResponse;
}

const ORIGIN_NOT_ALLOWED: readonly [string, GuardResponse] = [
  'origin_not_allowed',
  jsonResponse(403, {
    error: 'origin_not_allowed',
    error_description: 'Pages of this origin may not call this server. Its operator can allow them.',
  }),
];

const HOST_NOT_ALLOWED: readonly [string, GuardResponse] = [
  'host_not_allowed',
  jsonResponse(403, {
    error: 'host_not_allowed',
    error_description: 'This server does not answer to this Host. Its operator can allow it.',
  }),
];

const INTERNAL_ERROR: GuardResponse = jsonResponse(500, {
  error: 'server_error',
  error_description: 'The request failed here. It is not your fault; tell the operator.',
});
