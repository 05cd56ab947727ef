/** Serves `/metrics`: to programs on this computer, or with the metrics token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type HttpRequest, respond } from '@portcullis/http';
import { isLoopbackHost } from '@portcullis/protocol';
import { type PathHandler, respondNotFound } from '../path-handler.ts';
import { type Family, formatMetrics } from './prometheus-exposition.ts';

export type ReadMetrics = () => readonly Family[] | Promise<readonly Family[]>;

/**
 * @param metrics of this process, or of all
 * @param token `null`: only requests from this computer to its own name are allowed, and none if the issuer is public: a proxy or
 * tunnel may end on this computer, and its requests look local
 * @param issuer the public URL of the server
 */
export function createMetricsHandler(
  metrics: ReadMetrics,
  token: string | null,
  issuer: string,
): PathHandler {
  const isForThisComputer = isLoopbackHost(new URL(issuer).hostname);
  return async (request, { security }) => {
    const isAllowed =
      token === null
        ? isForThisComputer && security === 'loopback' && namesThisComputer(request)
        : hasBearerToken(request, token);
    // Unauthorized requests get the same response as an unknown path.
    if (!isAllowed) return respondNotFound();
    const headers = {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
    };
    return respond(200, headers, formatMetrics(await metrics()));
  };
}

/** Headers that proxies and tunnels add. */
const PROXY_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-real-ip',
];

/**
 * Checks that `Host` and target name this computer (DNS rebinding). A tunnel that ends here looks local too, but carries the
 * public name in `Host`, even though an absolute target URL can name anything and takes precedence.
 */
function namesThisComputer({ headers, url }: HttpRequest): boolean {
  const host = URL.parse(`http://${headers.get('host') ?? ''}`)?.hostname ?? '';
  const isNamed = [host, new URL(url).hostname].every(isLoopbackHost);
  return isNamed && !PROXY_HEADERS.some((name) => headers.has(name));
}

function hasBearerToken({ headers }: HttpRequest, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(headers.get('authorization') ?? ''), digest(`Bearer ${token}`));
}
