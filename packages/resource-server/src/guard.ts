/** The guard: admits a request to a protected server, or answers it itself. */

import { createProofOfPossession } from './dpop/proof-of-possession.ts';
import { authorizeRequest, type GuardDecision } from './guard/authorize-request.ts';
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

/** What stands before the protected servers of one configuration. Adapters put it into the words of a framework. */
export interface Guard {
  /** The canonical URIs of the resources that it protects. */
  readonly resources: readonly string[];
  /** Answers what needs no token, metadata and preflights of its resources; `null` for every other request. */
  publicResponse(requestInfo: RequestInfo): GuardResponse | null;
  /**
   * Judges a request, whatever its path: metadata and preflights are answered too. At once where nothing has to be
   * waited for, as with a token seen before; neither throws nor rejects.
   */
  authorize(requestInfo: RequestInfo): GuardDecision | Promise<GuardDecision>;
  /**
   * The answer for an error of the application: an `OAuthError`, such as `insufficient_scope` found out late, becomes a
   * challenge; anything else 500 without details.
   */
  errorResponse(error: unknown, requestInfo: RequestInfo): GuardResponse;
  /**
   * Ends streams with their token. Adapters have event streams watched over; whoever keeps something else open, such as
   * a socket, does it here. `null` where `streams` is `false`.
   */
  readonly watchStream: StreamWatch | null;
}

/**
 * Creates a guard.
 * @throws ConfigurationError with every fault of the options.
 */
export function createGuard(options: GuardOptions): Guard {
  const settings = defineGuardSettings(options);
  const { resources, dpop, clock, streams } = settings;
  const authenticator = createTokenAuthenticator(settings);
  const errorResponses = createErrorResponses(settings);
  const publicResponses = createPublicResponses(settings, errorResponses);
  const proofOfPossession = dpop && createProofOfPossession(dpop, clock);
  const services = { settings, authenticator, proofOfPossession, errorResponses, publicResponses };
  return {
    resources: resources.map(({ resource }) => resource),
    publicResponse: publicResponses.find,
    authorize: (requestInfo) => authorizeRequest(services, requestInfo),
    errorResponse: errorResponses.fromError,
    watchStream: createStreamWatch(streams, settings, authenticator),
  };
}
