/** The door to the counts: for programs on this computer, or for whoever has the token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Asked, respond } from '@portcullis/http';
import { type Door, refuseMissing } from './door.ts';
import type { Metrics } from './metrics.ts';

/** @param token `null`: only who is on this computer, and speaks to it by its own name */
export function createMetricsDoor(metrics: Metrics, token: string | null): Door {
  return async (asked, { connection }) => {
    const isAdmitted =
      token === null ? connection === 'local' && namesThisComputer(asked) : carries(asked, token);
    // A stranger is told what is told of any path at which there is nothing.
    if (!isAdmitted) return refuseMissing();
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
