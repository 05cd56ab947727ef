/** The guard as Express middleware. Anything on node:http that calls `(request, response, next)` can use it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { carriedPrincipal, carryPrincipal } from './carrier.ts';
import type { Admission, Facts, Guard } from './guard.ts';
import { addHeaders, factsOfNode, receiveNode, sendAnswer } from './node-request.ts';
import { attendTo } from './node-stream.ts';
import { checkRouteOptions, type RouteOptions } from './route-options.ts';

export { principalOf } from './carrier.ts';
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
  const attend = attendTo(guard);
  return (request, response, next) => {
    const earlier = carriedPrincipal(request);
    const { originalUrl: url } = request;
    const admission = guard.admit(receiveNode(request, { url, scopes: options.scopes, principal: earlier }));
    const isFirst = earlier === undefined;
    if (!(admission instanceof Promise)) pass(admission, isFirst, request, response, next);
    else admission.then((later) => pass(later, isFirst, request, response, next)).catch(next);
  };

  function pass(
    admission: Admission,
    isFirst: boolean,
    request: ExpressRequest,
    response: ServerResponse,
    next: Next,
  ): void {
    if (!admission.admitted) {
      sendAnswer(response, admission.answer);
      return;
    }
    addHeaders(response, admission.headers);
    if (isFirst) attend?.(admission.principal, response);
    carryPrincipal(request, admission.principal);
    next();
  }
}

/** Serves the metadata documents, and preflights of the resources. Put it at the root of the application, first. */
export function publish(
  guard: Guard,
): (request: ExpressRequest, response: ServerResponse, next: Next) => void {
  return (request, response, next) => {
    const answer = guard.answer(factsOf(request));
    if (answer === null) next();
    else sendAnswer(response, answer);
  };
}

/** Turns an `OAuthError` of a handler into the guard's challenge. Put it last; other errors go on. */
export function refusals(
  guard: Guard,
): (error: unknown, request: ExpressRequest, response: ServerResponse, next: Next) => void {
  return (error, request, response, next) => {
    if (!(error instanceof OAuthError) || response.headersSent) return next(error);
    sendAnswer(response, guard.refuse(error, factsOf(request)));
  };
}

function factsOf(request: ExpressRequest): Facts {
  return factsOfNode(request, { url: request.originalUrl, principal: carriedPrincipal(request) });
}
