/** The guard: authorizes requests to protected servers, or responds to them itself. */
import { createProofOfPossession } from './dpop/proof-of-possession.ts';
import { authorizeRequest, type GuardDecision } from './guard/authorize-request.ts';
import { createBodyBudget } from './guard/body-budget.ts';
import { createErrorResponses } from './guard/error-responses.ts';
import { createPublicResponses } from './guard/public-responses.ts';
import { createTokenAuthenticator } from './guard/verified-token.ts';
import type { GuardResponse } from './guard-response.ts';
import type { GuardOptions } from './options.ts';
import type { RequestInfo } from './request-info.ts';
import { defineGuardSettings } from './settings.ts';
import { createStreamWatch, type StreamWatch } from './streams/stream-watch.ts';

export type { GuardDecision } from './guard/authorize-request.ts';
export type { RequestInfo } from './request-info.ts';

/** The guard of one or several protected resources. Adapters connect it to a framework. */
export interface Guard {
  /** The canonical URIs of the protected resources. */
  readonly resources: readonly string[];
  /**
   * Responds to requests that need no token, for metadata and preflights of the resources; `null` for every other
   * request.
   */
  publicResponse(requestInfo: RequestInfo): GuardResponse | null;
  /**
   * Authorizes a request, whatever its path; also responds to metadata requests and preflights. Synchronous if
   * nothing has to be awaited, as with a cached token. Neither throws nor rejects.
   * @see RFC 6750, RFC 9728, OAuth 2.1 draft 13 §5
   */
  authorize(requestInfo: RequestInfo): GuardDecision | Promise<GuardDecision>;
  /**
   * Returns the response for an error of the application: an `OAuthError`, such as a late `insufficient_scope`,
   * becomes a challenge; anything else becomes a 500 without details.
   * @see RFC 6750 §3
   */
  errorResponse(error: unknown, requestInfo: RequestInfo): GuardResponse;
  /** Returns the challenge for a request without a token, such as one for an operation that is not public. @see RFC 6750 §3 */
  challengeResponse(requestInfo: RequestInfo): GuardResponse;
  /**
   * Ends streams with their token. Adapters apply it to event streams; apply it yourself to other long-lived
   * connections, such as a WebSocket. `null` if the option `streams` is `false`.
   */
  readonly watchStream: StreamWatch | null;
}

/**
 * Creates a guard.
 * @throws ConfigurationError with every issue of the options
 * @see RFC 9728, RFC 6750
 * @example
 * ```ts
 * import { createGuard, jwtVerifier } from '@portcullis/resource-server';
 *
 * const guard = createGuard({
 *   resource: 'https://mcp.example/mcp',
 *   verifier: jwtVerifier({ issuer: 'https://auth.example' }),
 * });
 * const decision = await guard.authorize(new Request('https://mcp.example/mcp', { method: 'POST' }));
 * if ('response' in decision) console.log(decision.response.status); // 401
 * ```
 */
export function createGuard(options: GuardOptions): Guard {
  const settings = defineGuardSettings(options);
  const { resources, dpop, clock, streams } = settings;
  const authenticator = createTokenAuthenticator(settings);
  const errorResponses = createErrorResponses(settings);
  const publicResponses = createPublicResponses(settings, errorResponses);
  const proofOfPossession = dpop && createProofOfPossession(dpop, clock);
  const { bodyBudget, bodyLimit } = settings;
  const chargeBody = bodyBudget === null ? null : createBodyBudget(bodyBudget, bodyLimit);
  const services = {
    settings,
    authenticator,
    proofOfPossession,
    chargeBody,
    errorResponses,
    publicResponses,
  };
  return {
    resources: resources.map(({ resource }) => resource),
    publicResponse: publicResponses.find,
    authorize: (requestInfo) => authorizeRequest(services, requestInfo),
    errorResponse: errorResponses.fromError,
    challengeResponse: errorResponses.challengeFor,
    watchStream: createStreamWatch(streams, settings, authenticator),
  };
}
