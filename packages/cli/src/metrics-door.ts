/** The door to the counts: for programs on this computer, or for whoever has the token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Asked, respond, respondError } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { Door } from './doors.ts';
import type { Metrics } from './metrics.ts';

/** @param token `null`: only who is on this computer, and speaks to it by its own name */
export function respondMetrics(metrics: Metrics, token: string | null): Door {
  return async (asked, { connection }) => {
    const isAdmitted =
      token === null ? connection === 'local' && namesThisComputer(asked) : carries(asked, token);
    if (!isAdmitted) {
      return respondError(new OAuthError('invalid_request', 'Nothing stands at this path.', { status: 404 }));
    }
    const headers = {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
    };
    return respond(200, headers, metrics.expose());
  };
}

/** A tunnel that ends on this computer looks local too, but carries the public name. */
function namesThisComputer({ headers, url }: Asked): boolean {
  const hasForwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'].some((name) => headers.has(name));
  return !hasForwarded && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(url).hostname);
}

function carries({ headers }: Asked, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(headers.get('authorization') ?? ''), digest(`Bearer ${token}`));
}
