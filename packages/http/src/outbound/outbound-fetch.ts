/** A `fetch` with an SSRF guard, for URLs from untrusted sources such as client metadata and discovery documents. */
import { beforeAbort, inHttpSpan, type SpanStart, startSpan } from '@portcullis/protocol';
import { type EgressProxy, usesProxy, withoutBrackets } from './egress-proxy.ts';
import { type ResolveHost, resolveBySystem } from './name-servers.ts';
import { OutboundError } from './outbound-error.ts';
import { sendPinnedRequest, toOutboundError } from './pinned-request.ts';
import {
  areAddressesAllowed,
  checkOutboundUrl,
  type OutboundDestination,
  type OutboundPolicy,
} from './ssrf-guard.ts';

export { type EgressProxy, readNoProxy, readProxyVariable, usesProxy } from './egress-proxy.ts';
export { createNameServerResolver } from './name-servers.ts';
export { OutboundError, type OutboundErrorReason } from './outbound-error.ts';
export { checkOutboundUrl, type OutboundPolicy } from './ssrf-guard.ts';

/** Limits of an outbound request. */
export interface OutboundOptions extends OutboundPolicy {
  /** Milliseconds for the whole exchange, including the body; 10,000 by default. */
  readonly timeout?: number;
  /** Maximum size of a response body in bytes; 262,144 by default. */
  readonly maxBytes?: number;
  /** Certificate authorities in PEM, instead of those of the system. */
  readonly certificateAuthorities?: readonly string[];
  /** Sends https requests through a proxy, except those to loopback hosts. */
  readonly proxy?: EgressProxy;
  /** Resolves a host name to addresses; uses the system's resolver by default. */
  readonly resolve?: ResolveHost;
}

/** Like the platform's `fetch`, but redirects are returned as responses and never followed. */
export type OutboundFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

const DEFAULTS = { timeout: 10_000, maxBytes: 262_144 };

/**
 * Creates a `fetch` that is guarded against SSRF: it allows https to public addresses, plus any allowed by the policy. It
 * resolves the name once, checks every address, and connects only to checked addresses, with the name in `Host` and
 * in the TLS handshake.
 * The returned function throws `OutboundError`, or the reason of the caller's own abort.
 * @see RFC 6890
 * @example
 * ```ts
 * import { createOutboundFetch, OutboundError } from '@portcullis/http/outbound';
 *
 * const fetch = createOutboundFetch();
 * const error = await fetch('https://169.254.169.254/latest/meta-data/').catch((reason: unknown) => reason);
 * console.log(error instanceof OutboundError); // true
 * ```
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
    if (destination.kind === 'blocked') {
      throw new OutboundError('address', `The address may not be contacted: ${destination.reason}.`);
    }
    const { url } = destination;
    const request = new Request(input, init);
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    const caller = init?.signal ?? (input instanceof Request ? input.signal : null);
    const signal = limitTime(timeout, caller);
    try {
      const proxy = findProxy(destination, options.proxy);
      const addresses =
        proxy?.resolves === true
          ? [withoutBrackets(url.hostname)]
          : await resolveAllowed(destination, resolve, signal);
      const { method, headers } = request;
      const authorities = options.certificateAuthorities;
      return await traced(
        request,
        url,
        () =>
        sendPinnedRequest({
          url, addresses, proxy: proxy?.url ?? null, method, headers, body, signal, limit, authorities,
        }), // biome-ignore format: one list
      );
    } catch (error) {
      throw toOutboundError(error, signal);
    }
  };
}

/**
 * Measures a request in a span. Its URL may hold secrets, so that only the host is named. Its receiver gets no trace context.
 * @see OpenTelemetry semantic conventions, HTTP client spans
 */
function traced({ method }: Request, url: URL, send: () => Promise<Response>): Promise<Response> {
  const describe = (): SpanStart => ({
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    },
  });
  return inHttpSpan(
    startSpan(() => method, describe),
    400,
    send,
  );
}

type Allowed = Exclude<OutboundDestination, { readonly kind: 'blocked' }>;

/** The proxy for a destination, and whether it resolves the name: only names chosen by the operator. */
function findProxy(
  { kind, url }: Allowed,
  proxy: EgressProxy | undefined,
): { readonly url: string; readonly resolves: boolean } | null {
  if (proxy === undefined || kind === 'loopback' || !usesProxy(url, proxy)) return null;
  return { url: proxy.url, resolves: kind === 'private' || proxy.mayResolve?.(url.hostname) === true };
}

/** @throws OutboundError `address` if the SSRF guard blocks an address of the host */
async function resolveAllowed(
  { kind, url }: Allowed,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const addresses = await beforeAbort(resolveHost(url, resolve), signal);
  if (areAddressesAllowed(kind, addresses)) return addresses;
  throw new OutboundError(
    'address',
    'The address may not be contacted: its name resolves to a private network.',
  );
}

/** Resolves a host; an IP address resolves to itself. */
async function resolveHost(url: URL, resolve: ResolveHost): Promise<readonly string[]> {
  if (url.hostname.startsWith('[')) return [withoutBrackets(url.hostname)];
  return /^[\d.]+$/.test(url.hostname) ? [url.hostname] : resolve(url.hostname);
}

/**
 * A signal that aborts after the time limit, or with the caller's own. Not `AbortSignal.any`: in the first releases of Node 22, its
 * signal never aborts once the garbage collector has collected that of the time limit.
 */
function limitTime(milliseconds: number, caller: AbortSignal | null): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  const timeUp = () => controller.abort(new DOMException('The time limit is exceeded.', 'TimeoutError'));
  setTimeout(timeUp, milliseconds).unref();
  if (caller?.aborted === true) controller.abort(caller.reason);
  caller?.addEventListener('abort', () => controller.abort(caller.reason), { once: true, signal });
  return signal;
}
