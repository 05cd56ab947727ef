/** Options of outbound requests to hosts that clients name (SSRF protection). */
import {
  createNameServerResolver,
  createOutboundFetch,
  type EgressProxy,
  type OutboundFetch,
} from '@portcullis/http/outbound';
import { isLoopbackHost } from '@portcullis/protocol';
import * as z from 'zod';
import {
  callback,
  checkedText,
  type InputOf,
  lazy,
  list,
  type OutputOf,
  optional,
  text,
  wholeNumber,
} from '../../option-schema/fields.ts';
import { matchesHost } from './document-url.ts';

/** Validated outbound options. */
export interface Outbound {
  readonly fetch: OutboundFetch;
  readonly loopback: boolean;
  readonly timeout: number;
  /** `null`: requests are sent directly. */
  readonly proxy: EgressProxy | null;
}

/** How this server fetches client metadata documents and keys. */
export const outboundSchema = lazy(() =>
  z.strictObject({
    fetch: optional(callback<OutboundFetch>(), 'replaces the `fetch` that refuses private networks'),
    allowLoopback: z
      .boolean()
      .default(false)
      .describe('whether loopback hosts may be fetched, also over http: for development'),
    timeout: wholeNumber(1, 600_000, 'a whole number of milliseconds')
      .default(5000)
      .describe('limit of a whole exchange'),
    proxy: optional(
      checkedText('an http or https URL', proxyIssue),
      'egress proxy for requests to clients’ hosts and identity providers',
      '`HTTPS_PROXY`, or none',
    ),
    noProxy: optional(
      list(
        text(
          'a host such as `idp.internal`, an address, a block such as `10.0.0.0/8`, each also with a port, or `*`',
        ),
      ),
      'hosts that are reached without the proxy, with their subdomains',
      '`NO_PROXY`, or none',
    ),
  }),
);

/** How this server fetches client metadata documents and keys. */
export type OutboundSettings = InputOf<typeof outboundSchema>;

/** Bytes of the largest response. Each kind of document has a lower limit of its own. */
const LARGEST = 65_536;

/** Part of the time limit in which a host name must resolve. */
const SHARE_OF_NAMES = 0.6;

/** What is wrong with the URL of a proxy; `null`: nothing. */
function proxyIssue(value: string): string | null {
  const url = URL.parse(value);
  const isProxy = url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '';
  return isProxy ? null : 'must be an http or https URL without a path, such as http://proxy.internal:3128';
}

/** @param namedHosts patterns of hosts that the operator named, which the proxy may resolve */
export function createOutbound(
  { fetch, allowLoopback, timeout, proxy: url, noProxy = [] }: OutputOf<typeof outboundSchema>,
  namedHosts: readonly string[],
): Outbound {
  const mayResolve = (host: string) => namedHosts.some((pattern) => matchesHost(pattern, host));
  const proxy: EgressProxy | null = url === undefined ? null : { url, bypass: noProxy, mayResolve };
  // Names must fail before the whole exchange does: then it is known which of the two failed.
  const resolve = createNameServerResolver(timeout * SHARE_OF_NAMES);
  return Object.freeze({
    fetch:
      fetch ??
      createOutboundFetch({
        allowLoopback,
        timeout,
        maxBytes: LARGEST,
        resolve,
        ...(proxy !== null && { proxy }),
      }),
    proxy,
    loopback: allowLoopback,
    timeout,
  });
}

/** A fetch of hosts that the operator named: wherever they resolve to. @param maxBytes of the largest response */
export function createNamedFetch(
  named: readonly URL[],
  { timeout, proxy, maxBytes }: Pick<Outbound, 'timeout' | 'proxy'> & { readonly maxBytes: number },
): OutboundFetch {
  return createOutboundFetch({
    allowLoopback: named.some(({ hostname }) => isLoopbackHost(hostname)),
    allowedPrivateOrigins: named.map(({ origin }) => origin),
    timeout,
    maxBytes,
    ...(proxy !== null && { proxy }),
  });
}
