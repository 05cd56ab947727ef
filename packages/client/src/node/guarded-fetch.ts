/** SSRF guard for requests to OAuth endpoints in Node: URLs from servers are checked before anything connects to them. */
import { createOutboundFetch, type EgressProxy, OutboundError } from '@portcullis/http/outbound';
import { isLoopbackHost } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { Fetch } from '../transport.ts';

/** What the guard allows. */
export interface GuardedFetchOptions {
  /** The protected server; its own origin is allowed. */
  readonly serverUrl: string;
  /** May be in a private network. */
  readonly trustedOrigins: readonly string[];
  /** Milliseconds. */
  readonly timeout: number;
  readonly maxBytes: number;
  /** Sends https requests through a proxy. It resolves host names itself, so their URLs are checked as they are written. */
  readonly proxy?: Omit<EgressProxy, 'mayResolve'>;
}

/**
 * Creates the guarded `fetch`. Loopback addresses are allowed only for a protected server on a loopback address; private
 * networks only where they are named.
 */
export function createGuardedFetch(options: GuardedFetchOptions): Fetch {
  const { serverUrl, trustedOrigins, timeout, maxBytes, proxy } = options;
  const server = URL.parse(serverUrl);
  return createOutboundFetch({
    allowLoopback: server !== null && isLoopbackHost(server.hostname),
    allowedPrivateOrigins: [...(server === null ? [] : [server.origin]), ...trustedOrigins],
    timeout,
    maxBytes,
    ...(proxy !== undefined && { proxy: { ...proxy, mayResolve: () => true } }),
  });
}

/**
 * Turns an error of the guard into a ClientError; `null` for other errors.
 * @param origin the requested origin
 */
export function toClientError(error: unknown, origin: string): ClientError | null {
  if (!(error instanceof OutboundError)) return null;
  switch (error.reason) {
    case 'address':
      return new ClientError(
        'address_refused',
        `${error.message} If you know that address, add its origin to trustedOrigins.`,
        { cause: error },
      );
    case 'size':
    case 'encoding':
      return new ClientError('response_too_large', error.message, { cause: error });
    case 'timeout':
      return new ClientError('unreachable', `${origin} did not respond in time.`, { cause: error });
    case 'unreachable':
    case 'egress':
      return new ClientError('unreachable', `${origin} could not be reached.`, { cause: error });
  }
}
