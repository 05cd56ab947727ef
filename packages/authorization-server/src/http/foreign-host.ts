/** Rejects requests for another host at an authorization server on this computer, as pages send by DNS rebinding. */
import { type ConnectionInfo, type HttpRequest, type HttpResponse, respondJson } from '@portcullis/http';
import { isLoopbackHost } from '@portcullis/protocol';
import type { EventSink } from '../audit/events.ts';

/** Returns the 403 for a request that names another host; `null` for all others. */
export type RejectForeignHost = (request: HttpRequest, connection: ConnectionInfo) => HttpResponse | null;

/** What the address of a client on this computer begins with. */
const LOOPBACK_ADDRESS = /^(?:127\.|::1$)/;

/**
 * Creates the check. It applies to an issuer on loopback and to clients on this computer: a page whose name was made to
 * resolve to 127.0.0.1 is of the same origin for the browser, but `Host` is still its own. From other computers, such as
 * containers, a browser cannot reach loopback.
 */
export function createRejectForeignHost(issuer: string, events: EventSink): RejectForeignHost {
  const { origin, hostname } = new URL(issuer);
  if (!isLoopbackHost(hostname)) return () => null;
  const expected = `${origin}/`;
  // Another name of this computer: a browser sends many requests to it, and parsing each URL costs 2 µs.
  let other = expected;
  return ({ url }, { address }) => {
    if (url.startsWith(expected) || url.startsWith(other)) return null;
    const requested = new URL(url);
    if (isLoopbackHost(requested.hostname)) {
      other = `${requested.origin}/`;
      return null;
    }
    if (address !== undefined && !LOOPBACK_ADDRESS.test(address)) return null;
    const reason = 'possible DNS rebinding';
    events({ type: 'request.rejected', endpoint: '*', error: 'host_not_allowed', reason });
    return respondJson(
      {
        error: 'host_not_allowed',
        error_description: `This server is for this computer only. Open it at ${origin}.`,
      },
      { status: 403 },
    );
  };
}
