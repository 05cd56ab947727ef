/** How this server asks hosts that clients name. */
import { createOutboundFetch, type OutboundFetch } from '@portcullis/http/outbound';

/** What an operator says of requests to hosts that somebody else has named. */
export interface OutboundSettings {
  /** The `fetch` that is used, instead of the one that guards this server's own network. */
  readonly fetch?: OutboundFetch;
  /** Whether hosts on this computer may be asked, also over http: for development. `false` when left out. */
  readonly allowLoopback?: boolean;
  /** Milliseconds for a whole exchange; 5,000 when left out. */
  readonly timeout?: number;
}

/** Settings as judged. */
export interface Outbound {
  readonly fetch: OutboundFetch;
  readonly loopback: boolean;
  readonly timeout: number;
}

/** Bytes of the largest answer that anybody waits for. Each kind of document has a limit of its own below. */
const LARGEST = 65_536;

export function judgeOutbound(settings: OutboundSettings, issues: string[]): Outbound {
  const { allowLoopback: loopback = false, timeout = 5000 } = settings;
  if (!Number.isSafeInteger(timeout) || timeout < 1) {
    issues.push('outbound.timeout must be whole milliseconds, at least 1');
  }
  const fetch =
    settings.fetch ?? createOutboundFetch({ allowLoopback: loopback, timeout, maxBytes: LARGEST });
  return Object.freeze({ fetch, loopback, timeout });
}
