/** `fetch` for addresses that somebody else wrote down: never into the inside, never anywhere but where it was judged. */
import { lookup } from 'node:dns/promises';
import { OutboundError } from './outbound/outbound-error.ts';
import { sendPinnedRequest, toOutboundError } from './outbound/pinned-request.ts';
import { areAddressesAllowed, checkOutboundUrl, type OutboundPolicy } from './outbound/ssrf-guard.ts';

export { OutboundError, type OutboundErrorReason } from './outbound/outbound-error.ts';
export { checkOutboundUrl, type OutboundPolicy } from './outbound/ssrf-guard.ts';

/** How far a request may go. */
export interface OutboundOptions extends OutboundPolicy {
  /** Milliseconds for the whole exchange, the body included; 10,000 by default. */
  readonly timeout?: number;
  /** Most bytes of an answer's body; 262,144 by default. */
  readonly maxBytes?: number;
  /** Certificate authorities in PEM, instead of the system's. */
  readonly certificateAuthorities?: readonly string[];
  /** Resolves a name to addresses; the system's resolver by default. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

/** As the platform's `fetch`; redirects are answers like any other, and are never followed. */
export type OutboundFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

const DEFAULTS = { timeout: 10_000, maxBytes: 262_144 };

/**
 * Makes a guarded `fetch`: https to public addresses, and what the policy adds. The name is resolved once, every address
 * of the answer is judged, and the connection goes to the judged ones, with the name in `Host` and in the TLS handshake.
 * It throws `OutboundError`, or the reason of the caller's own abort.
 */
export function createOutboundFetch(options: OutboundOptions = {}): OutboundFetch {
  const {
    timeout = DEFAULTS.timeout,
    maxBytes: limit = DEFAULTS.maxBytes,
    resolve = resolveBySystem,
  } = options;

  return async function outboundFetch(input, init) {
    const text = input instanceof Request ? input.url : String(input);
    const destination = checkOutboundUrl(text, options);
    if (destination.kind === 'refused') {
      throw new OutboundError('address', `The address may not be contacted: ${destination.reason}.`);
    }
    const { url, kind } = destination;
    const request = new Request(input, init);
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    const signal = AbortSignal.any([AbortSignal.timeout(timeout), request.signal]);
    try {
      const addresses = await beforeAbort(resolveHost(url, resolve), signal);
      if (!areAddressesAllowed(kind, addresses)) {
        throw new OutboundError(
          'address',
          'The address may not be contacted: its name leads into a private network.',
        );
      }
      const { method, headers } = request;
      const authorities = options.certificateAuthorities;
      return await sendPinnedRequest({ url, addresses, method, headers, body, signal, limit, authorities });
    } catch (error) {
      throw toOutboundError(error, signal);
    }
  };
}

/** An address stands for itself. */
async function resolveHost(
  url: URL,
  resolve: (hostname: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (url.hostname.startsWith('[')) return [url.hostname.slice(1, -1)];
  return /^[\d.]+$/.test(url.hostname) ? [url.hostname] : resolve(url.hostname);
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const answers = await lookup(hostname, { all: true, order: 'verbatim' });
  return answers.map(({ address }) => address);
}

function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return Promise.race([work, promise]);
}
