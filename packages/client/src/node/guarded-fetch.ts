/** The way to OAuth parties in Node: addresses that servers write down are judged before anything connects to them. */
import { checkOutboundUrl, createOutboundFetch, OutboundError } from '@portcullis/http/outbound';
import { isLoopbackHost } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { Fetch } from '../transport.ts';

/** What the person has vouched for by naming it. */
export interface GuardedFetchOptions {
  readonly serverUrl: string;
  /** They may be in a private network. */
  readonly trustedOrigins: readonly string[];
  /** Milliseconds. */
  readonly timeout: number;
  readonly maxBytes: number;
  /** Carries the requests through a proxy. It resolves the names itself, so that addresses are judged as they are written. */
  readonly proxyFetch?: Fetch;
}

/**
 * Makes the transport. Who connects to a server on this computer may meet its authorization server there too; who
 * connects to any other may not be sent here, or into a private network that nobody named.
 */
export function createGuardedFetch(places: GuardedFetchOptions): Fetch {
  const { serverUrl, trustedOrigins, timeout, maxBytes: bytes, proxyFetch: via } = places;
  const server = URL.parse(serverUrl);
  const policy = {
    allowLoopback: server !== null && isLoopbackHost(server.hostname),
    allowedPrivateOrigins: [...(server === null ? [] : [server.origin]), ...trustedOrigins],
  };
  if (via === undefined) return createOutboundFetch({ ...policy, timeout, maxBytes: bytes });
  return async (input, init) => {
    const destination = checkOutboundUrl(input instanceof Request ? input.url : String(input), policy);
    if (destination.kind !== 'refused') return via(input, init);
    throw new OutboundError('address', `The address may not be contacted: ${destination.reason}.`);
  };
}

/**
 * What a refusal of the guard means to the client.
 * @param origin of whom was asked
 */
export function toClientError(error: unknown, origin: string): ClientError | null {
  if (!(error instanceof OutboundError)) return null;
  switch (error.reason) {
    case 'address':
      return new ClientError(
        'address_refused',
        `${error.message} If you know that address, name its origin in trustedOrigins.`,
        { cause: error },
      );
    case 'size':
    case 'encoding':
      return new ClientError('response_too_large', error.message, { cause: error });
    case 'timeout':
      return new ClientError('unreachable', `${origin} did not answer in time.`, { cause: error });
    case 'unreachable':
      return new ClientError('unreachable', `${origin} could not be reached.`, { cause: error });
  }
}
