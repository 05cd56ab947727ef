/** Paths of the program itself, beside those of the authorization server and the application: probes, counts, the front page. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { type HttpResponse, pathOf, respondError, respondJson, withHeaders } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { respondFrontPage, respondMissing } from './front-page.ts';
import type { Metrics } from './metrics.ts';
import { createMetricsHandler } from './metrics-handler.ts';
import type { PathHandler } from './path-handler.ts';
import type { ProtectedServer } from './protected-servers.ts';
import type { Storage } from './storage.ts';

interface ServiceDependencies {
  readonly storage: Storage;
  readonly server: AuthorizationServer;
  readonly servers: readonly ProtectedServer[];
  readonly metrics: Metrics;
  readonly metricsToken: string | null;
  readonly issuer: string;
}

/** Answers whatever nobody else does. */
export function createServiceRoutes({
  storage,
  server,
  servers,
  metrics,
  metricsToken,
  issuer,
}: ServiceDependencies): PathHandler {
  const handlers: Readonly<Record<string, PathHandler>> = {
    '/': (asked, connection) => respondFrontPage(asked, connection, server, servers),
    '/healthz': async () => respondJson({ status: 'ok' }),
    '/readyz': () => ready(storage),
    '/metrics': createMetricsHandler(metrics, metricsToken, issuer),
  };
  return async (asked, connection) => {
    const path = pathOf(asked);
    const door = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
    if (door === undefined) return respondMissing(asked, connection, server);
    return asked.method === 'GET' || asked.method === 'HEAD' ? door(asked, connection) : refuseMethod();
  };
}

/** @see RFC 9110 §15.5.6 */
function refuseMethod(): HttpResponse {
  const error = new OAuthError('invalid_request', 'This path is only read: use GET.', { status: 405 });
  return withHeaders(respondError(error), { allow: 'GET, HEAD' });
}

async function ready({ store }: Storage): Promise<HttpResponse> {
  try {
    await store.ping();
    return respondJson({ status: 'ok' });
  } catch {
    return respondJson({ status: 'unavailable' }, { status: 503, headers: { 'retry-after': '5' } });
  }
}
