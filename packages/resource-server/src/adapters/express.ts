/** The guard as Express middleware, usable by anything on node:http that calls `(request, response, next)`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol';
import type { Guard, GuardDecision, RequestInfo } from '../guard.ts';
import { addHeaders, nodeRequestInfo, sendGuardResponse, takeNodeRequest } from './node-request.ts';
import { nodeStreamWatcher } from './node-stream.ts';
import {
  attachedPrincipal,
  attachPrincipal,
  checkRouteOptions,
  type RouteOptions,
  whenDecided,
} from './route.ts';

export { principalOf } from './route.ts';

/** The part of an Express request that the guard needs. */
type ExpressRequest = IncomingMessage & {
  /** Routers strip the path that they have matched from `url`. */
  readonly originalUrl?: string;
};

type Next = (error?: unknown) => void;

/**
 * Authorizes a request, or responds itself. Handlers get the principal with `principalOf(request)`. Put it before
 * anything that reads the body, or after a body parser, but not after code that consumes the body without keeping it.
 * @throws ConfigurationError for unknown options
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
    const info = { url, scopes: options.scopes, principal: earlier };
    const pass = (decision: GuardDecision) => {
      if (!decision.authorized) return sendGuardResponse(response, decision.response);
      addHeaders(response, decision.headers);
      if (earlier === undefined) attend?.(decision.principal, response);
      attachPrincipal(request, decision.principal);
      next();
    };
    whenDecided(guard.authorize(takeNodeRequest(request, info)), pass, next);
  };
}

/**
 * Serves protected resource metadata, and preflights of the resources. Put it first, at the root of the application.
 * @see RFC 9728 §3
 */
export function serveMetadata(
  guard: Guard,
): (request: ExpressRequest, response: ServerResponse, next: Next) => void {
  return (request, response, next) => {
    const guardResponse = guard.publicResponse(expressRequestInfo(request));
    if (guardResponse === null) next();
    else sendGuardResponse(response, guardResponse);
  };
}

/**
 * Error handler: converts an `OAuthError` to the guard's challenge and passes other errors on. Put it last. @see RFC
 * 6750 §3
 */
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
