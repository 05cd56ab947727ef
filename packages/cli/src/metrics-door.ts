/** The door to the counts: for programs on this computer, or for whoever has the token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { respondError } from '@portcullis/http';
import type { PeerHandler } from '@portcullis/http/node';
import { OAuthError } from '@portcullis/protocol';
import type { Metrics } from './metrics.ts';

/** @param token `null`: only who is on this computer, and speaks to it by its own name */
export function respondMetrics(metrics: Metrics, token: string | null): PeerHandler {
  return async (request, { connection }) => {
    const isAdmitted =
      token === null ? connection === 'local' && namesThisComputer(request) : carries(request, token);
    if (!isAdmitted) {
      return respondError(new OAuthError('invalid_request', 'Nothing stands at this path.', { status: 404 }));
    }
    return new Response(metrics.expose(), {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    });
  };
}

/** A tunnel that ends on this computer looks local too, but carries the public name. */
function namesThisComputer(request: Request): boolean {
  const hasForwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'].some((name) =>
    request.headers.has(name),
  );
  return !hasForwarded && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(request.url).hostname);
}

function carries(request: Request, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.headers.get('authorization') ?? ''), digest(`Bearer ${token}`));
}
