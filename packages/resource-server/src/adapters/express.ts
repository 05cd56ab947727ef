/** The guard as Express middleware. Anything on node:http that calls `(request, response, next)` can use it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol/protected-resource';
import type { Guard, GuardDecision, RequestInfo } from '../guard.ts';
import { addHeaders, nodeRequestInfo, sendGuardResponse, takeNodeRequest } from './node-request.ts';
import { nodeStreamWatcher } from './node-stream.ts';
import { attachedPrincipal, attachPrincipal } from './principal-carrier.ts';
import { checkRouteOptions, type RouteOptions } from './route-options.ts';

export { principalOf } from './principal-carrier.ts';
export type { RouteOptions } from './route-options.ts';

/** A request of Express, as far as the guard needs it. */
type ExpressRequest = IncomingMessage & {
  /** A router cuts off `url` what it has matched. */
  readonly originalUrl?: string;
};

type Next = (error?: unknown) => void;

/**
 * Admits a request to what follows, or answers it. `principalOf(request)` tells what follows on whose behalf.
 * Put it before anything that reads the body, or after a body parser; not after what reads it and keeps nothing.
 */
export function protect(
  guard: Guard,
  options: RouteOptions = {},
): (request: ExpressRequest, response: ServerResponse, next: Next) => void {
  checkRouteOptions(options);
  const attend = nodeStreamWatcher(guard);
  return (request, response, next) => {
    const earlier = attachedPrincipal(request);
    const { originalUrl: url } = request;
    const decision = guard.authorize(
      takeNodeRequest(request, { url, scopes: options.scopes, principal: earlier }),
    );
    const isFirst = earlier === undefined;
    if (!(decision instanceof Promise)) pass(decision, isFirst, request, response, next);
    else decision.then((later) => pass(later, isFirst, request, response, next)).catch(next);
  };

  function pass(
    decision: GuardDecision,
    isFirst: boolean,
    request: ExpressRequest,
    response: ServerResponse,
    next: Next,
  ): void {
    if (!decision.authorized) {
      sendGuardResponse(response, decision.response);
      return;
    }
    addHeaders(response, decision.headers);
    if (isFirst) attend?.(decision.principal, response);
    attachPrincipal(request, decision.principal);
    next();
  }
}

/** Serves the metadata documents, and preflights of the resources. Put it at the root of the application, first. */
export function serveMetadata(
  guard: Guard,
): (request: ExpressRequest, response: ServerResponse, next: Next) => void {
  return (request, response, next) => {
    const guardResponse = guard.publicResponse(expressRequestInfo(request));
    if (guardResponse === null) next();
    else sendGuardResponse(response, guardResponse);
  };
}

/** Turns an `OAuthError` of a handler into the guard's challenge. Put it last; other errors go on. */
export function errorHandler(
  guard: Guard,
): (error: unknown, request: ExpressRequest, response: ServerResponse, next: Next) => void {
  return (error, request, response, next) => {
    if (!(error instanceof OAuthError) || response.headersSent) return next(error);
    sendGuardResponse(response, guard.errorResponse(error, expressRequestInfo(request)));
  };
}

function expressRequestInfo(request: ExpressRequest): RequestInfo {
  return nodeRequestInfo(request, { url: request.originalUrl, principal: attachedPrincipal(request) });
}
