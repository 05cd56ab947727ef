/** The guard as Koa middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol';
import type { Guard } from '../guard.ts';
import type { GuardResponse } from '../guard-response.ts';
import { type AdapterInfo, addHeaders, nodeRequestInfo, takeNodeRequest } from './node-request.ts';
import { nodeStreamWatcher } from './node-stream.ts';
import { attachedPrincipal, attachPrincipal, checkRouteOptions, type RouteOptions } from './route.ts';

export { principalOf } from './route.ts';

/** The part of a Koa context that the guard needs. */
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Body parsers store what they read here. */
  readonly request: object;
  readonly originalUrl: string;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Authorizes a request, or responds itself. Handlers get the principal with `principalOf(context)`. An `OAuthError`
 * thrown behind it becomes the guard's challenge; other errors are rethrown.
 * @throws ConfigurationError for unknown options
 */
export function protect(guard: Guard, options: RouteOptions = {}): KoaMiddleware {
  checkRouteOptions(options);
  const attend = nodeStreamWatcher(guard);
  return async (context, next) => {
    const requestInfo = takeNodeRequest(context.req, adapterInfo(context, options));
    const pending = guard.authorize(requestInfo);
    const decision = pending instanceof Promise ? await pending : pending;
    if (!decision.authorized) return sendResponse(context, decision.response);
    addHeaders(context.res, decision.headers);
    if (requestInfo.principal === undefined) attend?.(decision.principal, context.res);
    attachPrincipal(context, decision.principal);
    try {
      await next();
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      sendResponse(context, guard.errorResponse(error, requestInfo));
    }
  };
}

/** Serves protected resource metadata, and preflights of the resources. Put it first. @see RFC 9728 §3 */
export function serveMetadata(guard: Guard): KoaMiddleware {
  return async (context, next) => {
    const guardResponse = guard.publicResponse(nodeRequestInfo(context.req, adapterInfo(context)));
    if (guardResponse === null) await next();
    else sendResponse(context, guardResponse);
  };
}

function adapterInfo(context: KoaContext, { scopes }: RouteOptions = {}): AdapterInfo {
  const { originalUrl: url, request } = context;
  return {
    url,
    scopes,
    principal: attachedPrincipal(context),
    parsed: (request as { readonly body?: unknown }).body,
  };
}

/** Koa treats a `null` body as 204, so an empty body is sent as empty text. */
function sendResponse(context: KoaContext, { status, headers, body }: GuardResponse): void {
  context.body = body ?? '';
  context.status = status;
  context.set({ ...headers });
}
