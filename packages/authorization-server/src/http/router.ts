/** The routes of the authorization server: which hand answers which path and method, and what becomes of errors. */
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
import { OAuthError } from '@portcullis/protocol';
import type { EventSink } from '../audit/events.ts';

/** One method of one path. */
export interface Route {
  /** HEAD follows GET. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A whole path, or one that ends with `/*` and stands for all below it. */
  readonly path: string;
  /** Whether scripts of any web origin may call it, without cookies. Never for pages. */
  readonly crossOrigin?: true;
  /** Answers. An `OAuthError` that it throws becomes a JSON error response, anything else a 500. */
  handle(request: HttpRequest, connection: ConnectionInfo): Promise<HttpResponse>;
  /** Answers a method that its path does not have, for people; a JSON error when left out. */
  refuseMethod?(request: HttpRequest): Promise<HttpResponse>;
}

/** All routes as one hand. */
export interface Router {
  /** Answers every request, hardened; 404 for a path that is not its own. Never rejects. */
  handle(request: HttpRequest, connection: ConnectionInfo): Promise<HttpResponse>;
  owns(path: string): boolean;
}

/** The routes of one path. */
type Place = readonly Route[];

/** Paths at which clients look for metadata: 404 when there is none, never somebody else's answer. */
const WELL_KNOWN = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(?:\/|$)/;

/** @param isHttps whether the public address is https */
export function createRouter(routes: readonly Route[], events: EventSink, isHttps: boolean): Router {
  const whole = new Map<string, Place>();
  for (const route of routes) whole.set(route.path, [...(whole.get(route.path) ?? []), route]);
  const below = [...whole].filter(([path]) => path.endsWith('/*'));
  const find = (path: string): Place | undefined =>
    whole.get(path) ?? below.find(([pattern]) => path.startsWith(pattern.slice(0, -1)))?.[1];

  return {
    owns: (path) => find(path) !== undefined || WELL_KNOWN.test(path),
    async handle(request, connection) {
      const path = pathOf(request);
      const place = find(path);
      if (place === undefined) return withSecurityHeaders(refusePath(path), isHttps);
      const route = place.find(({ method }) => method === methodOf(request));
      try {
        const answer = await (route === undefined
          ? respondMethods(place, request)
          : route.handle(request, connection));
        return finish(request.method === 'HEAD' ? { ...answer, body: null } : answer, place, isHttps);
      } catch (error) {
        return finish(refuse(error, request, place[0]?.path ?? path, events), place, isHttps);
      }
    },
  };
}

/** HEAD follows GET. */
function methodOf({ method }: HttpRequest): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** What every answer of a place says besides. */
function finish(answer: HttpResponse, place: Place, isHttps: boolean): HttpResponse {
  return withSecurityHeaders(
    place.some((route) => route.crossOrigin) ? withCorsHeaders(answer) : answer,
    isHttps,
  );
}

/** OPTIONS, and the methods that a path does not have: 405 MUST carry `Allow`. @see RFC 9110 §15.5.6 */
async function respondMethods(place: Place, request: HttpRequest): Promise<HttpResponse> {
  const methods = place.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  if (isPreflight(request) && place.some((route) => route.crossOrigin))
    return respondPreflight(request, methods);
  const allow = [...methods, 'OPTIONS'].join(', ');
  if (request.method === 'OPTIONS') return respond(204, { allow });
  const error = new OAuthError('invalid_request', `Use ${methods.join(' or ')} here.`, { status: 405 });
  const page = await place.find(({ refuseMethod }) => refuseMethod !== undefined)?.refuseMethod?.(request);
  return withHeaders(page ?? respondError(error), { allow });
}

function refusePath(path: string): HttpResponse {
  const answer = respondError(
    new OAuthError('invalid_request', 'The authorization server has nothing at this path.', { status: 404 }),
  );
  return WELL_KNOWN.test(path) ? withCorsHeaders(answer) : answer;
}

/**
 * The JSON edge: public words on the wire, the private reason in an event.
 * @param endpoint the path of the route: what strangers ask for below it would be words of theirs, without end, in every count
 */
function refuse(error: unknown, request: HttpRequest, endpoint: string, events: EventSink): HttpResponse {
  if (error instanceof OAuthError) {
    const reason = error.reason ?? error.description;
    events({ type: 'request.rejected', endpoint, error: error.code, reason });
    return respondError(error, request);
  }
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  events({ type: 'request.failed', endpoint, reason });
  return respondError(
    new OAuthError('server_error', 'The authorization server met an unexpected condition.'),
  );
}
