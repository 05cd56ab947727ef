/** The program's own routes, besides the authorization server's and the application's: health checks, metrics, the front page. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { type HttpResponse, pathOf, respondError, respondJson, withHeaders } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { respondFrontPage, respondMissing } from './front-page.ts';
import { createMetricsHandler } from './metrics/metrics-handler.ts';
import type { PathHandler } from './path-handler.ts';
import type { ProtectedServer } from './protected-servers.ts';
import type { Readiness } from './readiness.ts';

interface ServiceDependencies {
  readonly readiness: Readiness;
  readonly server: AuthorizationServer;
  readonly servers: readonly ProtectedServer[];
  readonly metrics: { expose(): string | Promise<string> };
  readonly metricsToken: string | null;
  readonly issuer: string;
}

/** Creates the handler of all remaining paths. */
export function createServiceRoutes({
  readiness,
  server,
  servers,
  metrics,
  metricsToken,
  issuer,
}: ServiceDependencies): PathHandler {
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
