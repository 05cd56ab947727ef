/** The guard as Hono middleware, on any runtime that Hono supports. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol';
import { NO_HEADERS } from '../guard/verified-token.ts';
import type { Guard, GuardDecision, RequestInfo } from '../guard.ts';
import type { Principal } from '../principal.ts';
import type { ReadBody } from '../request-info.ts';
import { takeNodeRequest } from './node-request.ts';
import { nodeStreamWatcher, type WatchResponse } from './node-stream.ts';
import { attachedPrincipal, attachPrincipal, checkRouteOptions, type RouteOptions } from './route.ts';
import {
  takeWebRequest,
  toWebResponse,
  webBodyReader,
  webRequestInfo,
  withMissingHeaders,
} from './web-request.ts';
import { endStreamWithToken } from './web-stream.ts';

export { principalOf } from './route.ts';

/** The part of a Hono context that the guard needs. */
interface HonoContext {
  readonly env: unknown;
  readonly req: {
    raw: Request;
    text(): Promise<string>;
  };
  res: Response;
}

type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>;

/**
 * Authorizes a request, or responds itself. Handlers get the principal with `principalOf(context)`.
 * @throws ConfigurationError for unknown options
 */
export function protect(guard: Guard, options: RouteOptions = {}): HonoMiddleware {
  checkRouteOptions(options);
  const watching = { guard, attend: nodeStreamWatcher(guard) };
  return (context, next) => {
    const requestInfo = takeHonoRequest(context, options);
    const go = (decision: GuardDecision): Promise<Response | undefined> => {
      if (!decision.authorized) return Promise.resolve(toWebResponse(decision.response, requestInfo.method));
      const { headers, principal } = decision;
      const finish = watchStream(watching, principal, context, requestInfo);
      attachPrincipal(context, principal);
      return finish === null && headers === NO_HEADERS
        ? (next() as Promise<undefined>)
        : next().then(() => finishResponse(context, headers, finish));
    };
    const decision = guard.authorize(requestInfo);
    return decision instanceof Promise ? decision.then(go) : go(decision);
  };
}

/** A handler that gets the principal. */
type GuardedHandler<Context> = (context: Context, principal: Principal) => Response | Promise<Response>;

/**
 * Combines the guard with one handler: `app.post('/mcp', guarded(guard, (context, principal) => …))`. Avoids the cost
 * of a middleware chain, and responds to an `OAuthError` of the handler itself.
 * @throws ConfigurationError for unknown options
 */
export function guarded<Context extends HonoContext>(
  guard: Guard,
  handler: GuardedHandler<Context>,
  options: RouteOptions = {},
): (context: Context) => Response | Promise<Response> {
  checkRouteOptions(options);
  const watching = { guard, attend: nodeStreamWatcher(guard) };
  return (context) => {
    const requestInfo = takeHonoRequest(context, options);
    const decision = guard.authorize(requestInfo);
    if (!(decision instanceof Promise)) return pass(decision, context, requestInfo);
    return decision.then((later) => pass(later, context, requestInfo));
  };

  function pass(
    decision: GuardDecision,
    context: Context,
    requestInfo: RequestInfo,
  ): Response | Promise<Response> {
    if (!decision.authorized) return toWebResponse(decision.response, requestInfo.method);
    const { headers, principal } = decision;
    const watched = watchStream(watching, principal, context, requestInfo) ?? unwatched;
    attachPrincipal(context, principal);
    try {
      const made = handler(context, principal);
      if (!(made instanceof Promise)) return watched(withMissingHeaders(made, headers));
      return made.then(
        (response) => watched(withMissingHeaders(response, headers)),
        (error) => refuse(error, requestInfo),
      );
    } catch (error) {
      return refuse(error, requestInfo);
    }
  }

  function refuse(error: unknown, requestInfo: RequestInfo): Response {
    if (!(error instanceof OAuthError)) throw error;
    return toWebResponse(guard.errorResponse(error, requestInfo), requestInfo.method);
  }
}

/** Makes a response end with its token. */
type Finish = (response: Response) => Response;

const unwatched: Finish = (response) => response;

/**
 * Ends an event stream with its token. On Node the outgoing response is watched; elsewhere the response has to be
 * wrapped once. `null`: nothing is left to do.
 */
function watchStream(
  { guard, attend }: { readonly guard: Guard; readonly attend: WatchResponse | null },
  principal: Principal,
  context: HonoContext,
  { principal: earlier }: RequestInfo,
): Finish | null {
  if (attend === null || earlier !== undefined) return null;
  const outgoing = outgoingOf(context);
  if (outgoing === null) return (response) => endStreamWithToken(guard, principal, context.req.raw, response);
  attend(principal, outgoing);
  return null;
}

function finishResponse(
  context: HonoContext,
  headers: Readonly<Record<string, string>>,
  finish: Finish | null,
): undefined {
  const { res } = context;
  const finished = (finish ?? unwatched)(withMissingHeaders(res, headers));
  if (finished !== res) context.res = finished;
}

/**
 * Error handler for `app.onError`: converts an `OAuthError` to the guard's challenge and an exception of Hono to its
 * own response; rethrows other errors. @see RFC 6750 §3
 */
export function errorHandler(guard: Guard): (error: unknown, context: HonoContext) => Response {
  return (error, context) => {
    if (error instanceof OAuthError) {
      const { raw } = context.req;
      const requestInfo = { ...webRequestInfo(raw), principal: attachedPrincipal(context) };
      return toWebResponse(guard.errorResponse(error, requestInfo), raw.method);
    }
    const { getResponse } = error as { readonly getResponse?: () => Response };
    if (getResponse === undefined) throw error;
    return getResponse.call(error);
  };
}

/** Serves protected resource metadata, and preflights of the resources. Put it first. @see RFC 9728 §3 */
export function serveMetadata(guard: Guard): HonoMiddleware {
  return async (context, next) => {
    const { raw } = context.req;
    const guardResponse = guard.publicResponse(webRequestInfo(raw));
    if (guardResponse !== null) return toWebResponse(guardResponse, raw.method);
    await next();
    return undefined;
  };
}

/** Reads a request and removes its token. */
function takeHonoRequest(context: HonoContext, { scopes }: RouteOptions): RequestInfo {
  const { req } = context;
  // Hono keeps a body that was read before, and reads it again from there.
  const body: ReadBody = (limit) => (req.raw.bodyUsed ? req.text() : webBodyReader(req.raw)(limit));
  const beyond = { scopes, principal: attachedPrincipal(context), body };
  const incoming = incomingOf(context);
  if (incoming === null) {
    const { requestInfo, request } = takeWebRequest(req.raw);
    req.raw = request;
    return { ...requestInfo, ...beyond };
  }
  const requestInfo = takeNodeRequest(incoming, beyond);
  // Hono usually creates the headers later, from the emptied ones, unless something read them before.
  const isEmptied = requestInfo.authorization === undefined || req.raw.headers.get('authorization') === '';
  if (!isEmptied) req.raw = takeWebRequest(req.raw).request;
  return requestInfo;
}

/** The underlying request of node:http, if any; its headers need not be copied. */
function incomingOf({ env }: HonoContext): IncomingMessage | null {
  const incoming = (env as { readonly incoming?: Partial<IncomingMessage> } | undefined)?.incoming;
  return Array.isArray(incoming?.rawHeaders) ? (incoming as IncomingMessage) : null;
}

/** The underlying response of node:http, if any. */
function outgoingOf({ env }: HonoContext): ServerResponse | null {
  const outgoing = (env as { readonly outgoing?: Partial<ServerResponse> } | undefined)?.outgoing;
  return typeof outgoing?.writeHead === 'function' ? (outgoing as ServerResponse) : null;
}
