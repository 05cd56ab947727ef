/** Options of outbound requests to hosts that clients name (SSRF protection). */
import {
  createNameServerResolver,
  createOutboundFetch,
  type EgressProxy,
  type OutboundFetch,
} from '@portcullis/http/outbound';
import type * as z from 'zod';
import {
  boolean,
  checkedText,
  custom,
  lazy,
  list,
  object,
  optional,
  text,
  wholeNumber,
} from '../../option-schema.ts';
import { matchesHost } from './document-url.ts';

/** How this server fetches client metadata documents and keys. */
export interface OutboundSettings {
  /** Replaces the `fetch` that refuses addresses of private networks. */
  readonly fetch?: OutboundFetch;
  /** Whether loopback hosts may be fetched, also over http: for development. `false` by default. */
  readonly allowLoopback?: boolean;
  /** Milliseconds for a whole exchange; 5,000 by default. */
  readonly timeout?: number;
  /**
   * URL of an egress proxy for https requests to clients' hosts and identity providers. Other names than those of
   * `metadataDocuments.hosts` and of identity providers are resolved here, never by the proxy.
   */
  readonly proxy?: string;
  /** Hosts that are reached without the proxy, with their subdomains. */
  readonly noProxy?: readonly string[];
}

/** Validated outbound options. */
export interface Outbound {
  readonly fetch: OutboundFetch;
  readonly loopback: boolean;
  readonly timeout: number;
  /** `null`: requests are sent directly. */
  readonly proxy: EgressProxy | null;
}

export const outboundSchema: () => z.ZodType<OutboundSettings> = lazy(() =>
  object<OutboundSettings>({
    fetch: optional(
      custom<OutboundFetch>('a function', (value) => typeof value === 'function'),
      'replaces the `fetch` that refuses private networks',
    ),
    allowLoopback: optional(
      boolean(),
      'whether loopback hosts may be fetched, also over http: for development',
      { default: false },
    ),
    timeout: optional(
      wholeNumber(1, 600_000, 'a whole number of milliseconds'),
      'limit of a whole exchange',
      {
        default: 5000,
      },
    ),
    proxy: optional(
      checkedText('an http or https URL', proxyIssue),
      'egress proxy for requests to clients’ hosts and identity providers',
      { defaultText: '`HTTPS_PROXY`, or none' },
    ),
    noProxy: optional(
      list(
        text(
          'a host such as `idp.internal`, an address, a block such as `10.0.0.0/8`, each also with a port, or `*`',
        ),
      ),
      'hosts that are reached without the proxy, with their subdomains',
      { defaultText: '`NO_PROXY`, or none' },
    ),
  }),
);

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
  { fetch, allowLoopback = false, timeout = 5000, proxy: url, noProxy = [] }: OutboundSettings,
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
