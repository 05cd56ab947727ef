/** Options of outbound requests to hosts that clients name (SSRF protection). */
import { createNameServerResolver, createOutboundFetch, type OutboundFetch } from '@portcullis/http/outbound';
import type * as z from 'zod';
import { boolean, custom, lazy, object, optional, wholeNumber } from '../../option-schema.ts';

/** How this server fetches client metadata documents and keys. */
export interface OutboundSettings {
  /** Replaces the `fetch` that refuses addresses of private networks. */
  readonly fetch?: OutboundFetch;
  /** Whether loopback hosts may be fetched, also over http: for development. `false` by default. */
  readonly allowLoopback?: boolean;
  /** Milliseconds for a whole exchange; 5,000 by default. */
  readonly timeout?: number;
}

/** Validated outbound options. */
export interface Outbound {
  readonly fetch: OutboundFetch;
  readonly loopback: boolean;
  readonly timeout: number;
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
  }),
);

/** Bytes of the largest response. Each kind of document has a lower limit of its own. */
const LARGEST = 65_536;

/** Part of the time limit in which a host name must resolve. */
const SHARE_OF_NAMES = 0.6;

export function createOutbound({ fetch, allowLoopback = false, timeout = 5000 }: OutboundSettings): Outbound {
  // Names must fail before the whole exchange does: then it is known which of the two failed.
  const resolve = createNameServerResolver(timeout * SHARE_OF_NAMES);
  return Object.freeze({
    fetch: fetch ?? createOutboundFetch({ allowLoopback, timeout, maxBytes: LARGEST, resolve }),
    loopback: allowLoopback,
    timeout,
  });
}
