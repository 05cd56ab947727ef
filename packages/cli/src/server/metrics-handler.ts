/** The door to the counts: for programs on this computer, or for whoever has the token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type HttpRequest, respond } from '@portcullis/http';
import { isLoopbackHost } from '@portcullis/protocol';
import type { Metrics } from './metrics.ts';
import { type PathHandler, respondNotFound } from './path-handler.ts';

/**
 * @param token `null`: only who is on this computer and speaks to it by its own name, and nobody when the server is reached from
 * elsewhere: then a proxy or a tunnel may end on this computer, and all that comes out of it looks local
 * @param issuer by which the server is reached
 */
export function createMetricsHandler(metrics: Metrics, token: string | null, issuer: string): PathHandler {
  const isForThisComputer = isLoopbackHost(new URL(issuer).hostname);
  return async (asked, { security }) => {
    const isAdmitted =
      token === null
        ? isForThisComputer && security === 'loopback' && namesThisComputer(asked)
        : carries(asked, token);
    // A stranger is told what is told of any path at which there is nothing.
    if (!isAdmitted) return respondNotFound();
    const headers = {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
    };
    return respond(200, headers, metrics.expose());
  };
}

/** What proxies and tunnels leave on what they pass on. */
const TRACES = [
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
 * A tunnel that ends on this computer looks local too, but carries the public name: in the `Host` field, by which it was found,
 * although a whole URL as target can say anything and counts for more.
 */
function namesThisComputer({ headers, url }: HttpRequest): boolean {
  const host = URL.parse(`http://${headers.get('host') ?? ''}`)?.hostname ?? '';
  const isNamed = [host, new URL(url).hostname].every(isLoopbackHost);
  return isNamed && !TRACES.some((name) => headers.has(name));
}

function carries({ headers }: HttpRequest, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(headers.get('authorization') ?? ''), digest(`Bearer ${token}`));
}
