/** The guard as Hono middleware, on any runtime that Hono runs on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { carriedPrincipal, carryPrincipal } from './carrier.ts';
import type { Admission, Facts, Guard } from './guard.ts';
import type { ReadBody } from './needed-scopes.ts';
import { receiveNode } from './node-request.ts';
import { type Attend, attendTo } from './node-stream.ts';
import type { Principal } from './principal.ts';
import { checkRouteOptions, type RouteOptions } from './route-options.ts';
import { NO_HEADERS } from './standing.ts';
import { readerOf, receive, responseOf, withMissingHeaders } from './web-request.ts';
import { endWithToken } from './web-stream.ts';

export { principalOf } from './carrier.ts';
export type { RouteOptions } from './route-options.ts';

/** A context of Hono, as far as the guard needs it. */
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
 * Admits a request to what follows, or answers it. `principalOf(context)` tells what follows on whose behalf.
 */
export function protect(guard: Guard, options: RouteOptions = {}): HonoMiddleware {
  checkRouteOptions(options);
  const watching = { guard, attend: attendTo(guard) };
  return (context, next) => {
    const facts = receiveContext(context, options);
    const go = (admission: Admission): Promise<Response | undefined> => {
      if (!admission.admitted) return Promise.resolve(responseOf(admission.answer, facts.method));
      const { headers, principal } = admission;
      const finish = watchOver(watching, principal, context, facts);
      carryPrincipal(context, principal);
      return finish === null && headers === NO_HEADERS
        ? (next() as Promise<undefined>)
        : next().then(() => finishAnswer(context, headers, finish));
    };
    const admission = guard.admit(facts);
    return admission instanceof Promise ? admission.then(go) : go(admission);
  };
}

/** A handler that is told on whose behalf it answers. */
type GuardedHandler<Context> = (context: Context, principal: Principal) => Response | Promise<Response>;

/**
 * The guard and one handler in one: `app.post('/mcp', guarded(guard, (context, principal) => …))`. Saves what a chain of
 * middleware costs, and answers an `OAuthError` of the handler itself.
 */
export function guarded<Context extends HonoContext>(
  guard: Guard,
  handler: GuardedHandler<Context>,
  options: RouteOptions = {},
): (context: Context) => Response | Promise<Response> {
  checkRouteOptions(options);
  const watching = { guard, attend: attendTo(guard) };
  return (context) => {
    const facts = receiveContext(context, options);
    const admission = guard.admit(facts);
    if (!(admission instanceof Promise)) return pass(admission, context, facts);
    return admission.then((later) => pass(later, context, facts));
  };

  function pass(admission: Admission, context: Context, facts: Facts): Response | Promise<Response> {
    if (!admission.admitted) return responseOf(admission.answer, facts.method);
    const { headers, principal } = admission;
    const watched = watchOver(watching, principal, context, facts) ?? unwatched;
    carryPrincipal(context, principal);
    try {
      const made = handler(context, principal);
      if (!(made instanceof Promise)) return watched(withMissingHeaders(made, headers));
      return made.then(
        (response) => watched(withMissingHeaders(response, headers)),
        (error) => refuse(error, facts),
      );
    } catch (error) {
      return refuse(error, facts);
    }
  }

  function refuse(error: unknown, facts: Facts): Response {
    if (!(error instanceof OAuthError)) throw error;
    return responseOf(guard.refuse(error, facts), facts.method);
  }
}

/** Who watches over streams: on Node and elsewhere. */
interface Watching {
  readonly guard: Guard;
  readonly attend: Attend | null;
}

/** Makes of a response one that ends with the token. */
type Finish = (response: Response) => Response;

const unwatched: Finish = (response) => response;

/**
 * Has an event stream end with the token. Below Hono on Node the answer is watched where it is written; elsewhere the
 * response has to be finished, once. `null`: nothing is left to do.
 */
function watchOver(
  { guard, attend }: Watching,
  principal: Principal,
  context: HonoContext,
  { method, principal: earlier }: Facts,
): Finish | null {
  if (attend === null || earlier !== undefined) return null;
  const outgoing = outgoingOf(context);
  if (outgoing === null) return (response) => endWithToken(guard, principal, method, response);
  attend(principal, outgoing);
  return null;
}

function finishAnswer(
  context: HonoContext,
  headers: Readonly<Record<string, string>>,
  finish: Finish | null,
): undefined {
  const { res } = context;
  const finished = (finish ?? unwatched)(withMissingHeaders(res, headers));
  if (finished !== res) context.res = finished;
}

/**
 * For `app.onError`: an `OAuthError` of a handler becomes the guard's challenge, an exception of Hono its own response;
 * other errors are thrown again.
 */
export function refusals(guard: Guard): (error: unknown, context: HonoContext) => Response {
  return (error, { req }) => {
    const { method, url, headers } = req.raw;
    if (error instanceof OAuthError) {
      return responseOf(
        guard.refuse(error, { method, url, origin: headers.get('origin'), authorization: null }),
        method,
      );
    }
    const { getResponse } = error as { readonly getResponse?: () => Response };
    if (getResponse === undefined) throw error;
    return getResponse.call(error);
  };
}

/** Serves the metadata documents, and preflights of the resources. Put it first. */
export function publish(guard: Guard): HonoMiddleware {
  return async (context, next) => {
    const { method, url, headers } = context.req.raw;
    const origin = headers.get('origin');
    const requestedMethod = headers.get('access-control-request-method');
    const answer = guard.answer({ method, url, origin, requestedMethod, authorization: null });
    if (answer !== null) return responseOf(answer, method);
    await next();
    return undefined;
  };
}

/** The facts of a request, whose token is taken away. */
function receiveContext(context: HonoContext, { scopes }: RouteOptions): Facts {
  const { req } = context;
  // Hono keeps a body that something read before, and reads it again from there.
  const body: ReadBody = (limit) => (req.raw.bodyUsed ? req.text() : readerOf(req.raw)(limit));
  const beyond = { scopes, principal: carriedPrincipal(context), body };
  const incoming = incomingOf(context);
  if (incoming === null) {
    const { facts, request } = receive(req.raw);
    req.raw = request;
    return { ...facts, ...beyond };
  }
  const facts = receiveNode(incoming, beyond);
  // The headers are usually made later, from what was emptied here; unless something looked at them before.
  const isEmptied = facts.authorization === undefined || req.raw.headers.get('authorization') === '';
  if (!isEmptied) req.raw = receive(req.raw).request;
  return facts;
}

/** The request of node:http below, where there is one: its headers need not be made twice. */
function incomingOf({ env }: HonoContext): IncomingMessage | null {
  const incoming = (env as { readonly incoming?: Partial<IncomingMessage> } | undefined)?.incoming;
  return Array.isArray(incoming?.rawHeaders) ? (incoming as IncomingMessage) : null;
}

/** The answer of node:http below, where there is one. */
function outgoingOf({ env }: HonoContext): ServerResponse | null {
  const outgoing = (env as { readonly outgoing?: Partial<ServerResponse> } | undefined)?.outgoing;
  return typeof outgoing?.writeHead === 'function' ? (outgoing as ServerResponse) : null;
}
