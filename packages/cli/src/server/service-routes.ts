/** The program's own routes, besides the authorization server's and the application's: health checks, metrics, the front page. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import {
  type HttpRequest,
  type HttpResponse,
  pathOf,
  respond,
  respondError,
  respondJson,
  withHeaders,
} from '@portcullis/http';
import type { ConnectionInfo } from '@portcullis/http/node';
import { OAuthError } from '@portcullis/protocol';
import { createMetricsHandler, type ReadMetrics } from './metrics/metrics-handler.ts';
import { type PathHandler, respondNotFound } from './path-handler.ts';
import type { ProtectedServer } from './protected-servers.ts';
import type { Readiness } from './readiness.ts';

interface ServiceDependencies {
  readonly readiness: Readiness;
  readonly server: AuthorizationServer;
  readonly servers: readonly ProtectedServer[];
  readonly metrics: ReadMetrics;
  readonly metricsToken: string | null;
  readonly issuer: string;
}

/** Creates the handler of all remaining paths. */
export function createServiceRoutes(dependencies: ServiceDependencies): PathHandler {
  const { readiness, server, servers, metrics, metricsToken, issuer } = dependencies;
  const handlers: Readonly<Record<string, PathHandler>> = {
    '/': (request, connection) => respondFrontPage(request, connection, server, servers),
    '/healthz': async () => respondJson({ status: 'ok' }),
    '/readyz': () => readiness.respond(),
    '/metrics': createMetricsHandler(metrics, metricsToken, issuer),
  };
  return async (request, connection) => {
    const path = pathOf(request);
    const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
    if (handler === undefined) return respondMissing(request, connection, server);
    return request.method === 'GET' || request.method === 'HEAD'
      ? handler(request, connection)
      : refuseMethod();
  };
}

/** @see RFC 9110 §15.5.6 */
function refuseMethod(): HttpResponse {
  const error = new OAuthError('invalid_request', 'This path supports only GET.', { status: 405 });
  return withHeaders(respondError(error), { allow: 'GET, HEAD' });
}

/** Responds at `/`, with plain text unless HTML is accepted. @see RFC 9110 §12.5.1 */
async function respondFrontPage(
  request: HttpRequest,
  connection: ConnectionInfo,
  server: AuthorizationServer,
  servers: readonly ProtectedServer[],
): Promise<HttpResponse> {
  if (!wantsPage(request)) return respondText(servers);
  return withHeaders(await server.frontPage(request, connection), { vary: 'Accept' });
}

/** Responds with 404: a page for browsers, JSON for others; and with the icon that browsers ask for. @see RFC 9110 §12.5.1 */
async function respondMissing(
  request: HttpRequest,
  connection: ConnectionInfo,
  server: AuthorizationServer,
): Promise<HttpResponse> {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const response =
    isRead && (wantsPage(request) || pathOf(request) === '/favicon.ico')
      ? await server.missingPage(request, connection)
      : respondNotFound();
  return withHeaders(response, { vary: 'Accept' });
}

/** Whether the request comes from a browser. */
function wantsPage(request: HttpRequest): boolean {
  return /\btext\/html\b/i.test(request.headers.get('accept') ?? '');
}

/** Plain text, which needs no escaping. */
function respondText(servers: readonly ProtectedServer[]): HttpResponse {
  const list = servers.map(({ name, url }) => `  ${name}\n  ${url}\n`).join('\n');
  const text = `Portcullis protects ${servers.length === 1 ? 'this MCP server' : 'these MCP servers'}. Add the address to an MCP client:

${list}
The client opens a browser page here, where you sign in and choose what it may do.
See and revoke the access of apps to your account: /connections
`;
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=300',
    vary: 'Accept',
  };
  return respond(200, headers, text);
}
