/** The router: finds the route of a path and method, and turns errors into JSON responses. */
import {
  type ConnectionInfo,
  type HttpRequest,
  type HttpResponse,
  isPreflight,
  pathOf,
  respond,
  respondError,
  respondPreflight,
  withCorsHeaders,
  withHeaders,
  withSecurityHeaders,
} from '@portcullis/http';
import { inHttpSpan, OAuthError, startEndpointSpan } from '@portcullis/protocol';
import type { EventSink } from '../audit/events.ts';

/** One method of one path. */
export interface Route {
  /** HEAD follows GET, unless `head` is `false`. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `false` for a GET that changes state: HEAD is a safe method, which link scanners send. @see RFC 9110 §9.2.1 */
  readonly head?: false;
  /** A whole path, or one that ends with `/*` and matches every path below it. */
  readonly path: string;
  /** Whether scripts of any origin may call it (CORS), without cookies. Never for pages. */
  readonly crossOrigin?: true;
  /** An `OAuthError` that it throws becomes a JSON error response, anything else a 500. */
  handle(request: HttpRequest, connection: ConnectionInfo): Promise<HttpResponse>;
  /** The page for a method that the path does not support; a JSON error by default. */
  respondMethodNotAllowed?(request: HttpRequest): Promise<HttpResponse>;
}

export type Router = ReturnType<typeof createRouter>;

/** Paths at which clients look for metadata: always owned by this server, 404 when there is none. */
const WELL_KNOWN = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(?:\/|$)/;

/** @param isHttps whether the public address is https */
export function createRouter(routes: readonly Route[], events: EventSink, isHttps: boolean) {
  const whole = new Map<string, readonly Route[]>();
  for (const route of routes) whole.set(route.path, [...(whole.get(route.path) ?? []), route]);
  const below = [...whole].filter(([path]) => path.endsWith('/*'));
  const find = (path: string): readonly Route[] | undefined =>
    whole.get(path) ?? below.find(([pattern]) => path.startsWith(pattern.slice(0, -1)))?.[1];

  return {
    owns: (path: string): boolean => find(path) !== undefined || WELL_KNOWN.test(path),
    /** Handles any request, and adds security headers; 404 for an unknown path. Never rejects. */
    handle(request: HttpRequest, connection: ConnectionInfo): Promise<HttpResponse> {
      const path = pathOf(request);
      const matching = find(path);
      if (matching === undefined) return Promise.resolve(withSecurityHeaders(respondNotFound(path), isHttps));
      const endpoint = matching[0]?.path ?? path;
      // Anyone may send a trace context to these endpoints.
      const span = startEndpointSpan(request, endpoint, false);
      return inHttpSpan(span, 500, () => respondRouted(matching, endpoint, request, connection));
    },
  };

  async function respondRouted(
    matching: readonly Route[],
    endpoint: string,
    request: HttpRequest,
    connection: ConnectionInfo,
  ): Promise<HttpResponse> {
    const route = matching.find((route) => methodsOf(route).includes(request.method));
    try {
      const response = await (route === undefined
        ? respondMethods(matching, request)
        : route.handle(request, connection));
      return finish(request.method === 'HEAD' ? { ...response, body: null } : response, matching, isHttps);
    } catch (error) {
      return finish(respondThrown(error, request, endpoint, events), matching, isHttps);
    }
  }
}

function methodsOf({ method, head }: Route): readonly string[] {
  return method === 'GET' && head !== false ? ['GET', 'HEAD'] : [method];
}

/** Adds CORS and security headers. */
function finish(response: HttpResponse, matching: readonly Route[], isHttps: boolean): HttpResponse {
  return withSecurityHeaders(
    matching.some((route) => route.crossOrigin) ? withCorsHeaders(response) : response,
    isHttps,
  );
}

/** OPTIONS, and methods that the path does not support: 405 MUST carry `Allow`. @see RFC 9110 §15.5.6 */
async function respondMethods(matching: readonly Route[], request: HttpRequest): Promise<HttpResponse> {
  const methods = matching.flatMap(methodsOf);
  if (isPreflight(request) && matching.some((route) => route.crossOrigin))
    return respondPreflight(request, methods);
  const allow = [...methods, 'OPTIONS'].join(', ');
  if (request.method === 'OPTIONS') return respond(204, { allow });
  const error = new OAuthError('invalid_request', `Use ${methods.join(' or ')} here.`, { status: 405 });
  const page = await matching
    .find(({ respondMethodNotAllowed }) => respondMethodNotAllowed !== undefined)
    ?.respondMethodNotAllowed?.(request);
  return withHeaders(page ?? respondError(error), { allow });
}

function respondNotFound(path: string): HttpResponse {
  const response = respondError(
    new OAuthError('invalid_request', 'The authorization server has nothing at this path.', { status: 404 }),
  );
  return WELL_KNOWN.test(path) ? withCorsHeaders(response) : response;
}

/**
 * Turns an error into a JSON response: the public description in the response, the private reason in an event.
 * @param endpoint the path of the route, not of the request: attackers could fill the audit log with invented paths
 */
function respondThrown(
  error: unknown,
  request: HttpRequest,
  endpoint: string,
  events: EventSink,
): HttpResponse {
  if (error instanceof OAuthError) {
    const { code, rule, reason = error.description } = error;
    // A device polls until its user has decided.
    if (code !== 'authorization_pending') {
      events({
        type: 'request.rejected',
        endpoint,
        error: code,
        reason,
        ...(rule !== undefined && { rule }),
      });
    }
    return respondError(error, request);
  }
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  events({ type: 'request.failed', endpoint, reason });
  return respondError(
    new OAuthError('server_error', 'The authorization server met an unexpected condition.'),
  );
}
