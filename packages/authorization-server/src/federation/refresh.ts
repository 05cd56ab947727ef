/** Refreshes provider tokens: single flight within a process, one lease holder among all processes, and backoff after failures. */

import { setTimeout as pause } from 'node:timers/promises';
import { createLruCache } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { newSecret } from '../secrets.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { createRefreshWithLease, type ProviderTokenRefresh } from './refresh-with-lease.ts';
import type { TokenIssuer } from './token-issuer.ts';
import type { TokenVault } from './token-vault.ts';

export interface ProviderTokenRefresher {
  /** Refreshes provider tokens, or waits for the refresh in progress. */
  refresh(record: ProviderTokensRecord, issuer: TokenIssuer): Promise<ProviderTokenRefresh>;
  /** Resolves when none is in progress: without a receiver its response would be lost. */
  whenIdle(): Promise<void>;
}

export function createProviderTokenRefresher(
  context: ServerContext,
  vault: TokenVault,
): ProviderTokenRefresher {
  const refreshOrWait = createRefreshOrWait(context, vault);
  const singleFlight = createSingleFlight<ProviderTokenRefresh>(context.options.outbound.timeout);
  const pending = new Set<Promise<ProviderTokenRefresh>>();
  const backoff = createBackoff(context.clock);
  return {
    async refresh(record, issuer) {
      const waiting = backoff.remaining(record.grantId);
      if (waiting !== null) return { kind: 'later', ...waiting };
      return singleFlight.run(record.grantId, async () => {
        const work = refreshOrWait(record, issuer);
        pending.add(work);
        const refresh = await work.finally(() => pending.delete(work));
        if (refresh.kind === 'later') backoff.start(record.grantId, refresh);
        return refresh;
      });
    },
    async whenIdle() {
      await Promise.allSettled(pending);
    },
  };
}

/** Seconds that a lease lasts beyond the longest exchange; then another process replaces one that crashed. */
const LEASE_MARGIN = 10;
/** Milliseconds between polls while another process refreshes. */
const POLL = { first: 20, max: 400 };

/** Creates the function that acquires the lease and refreshes, or waits for the process with the lease. */
function createRefreshOrWait(
  context: ServerContext,
  vault: TokenVault,
): (record: ProviderTokensRecord, issuer: TokenIssuer) => Promise<ProviderTokenRefresh> {
  const {
    store,
    clock,
    options: { outbound },
  } = context;
  // The provider's metadata may have to be fetched first, and a key afterwards.
  const lease = Math.ceil((3 * outbound.timeout) / 1000) + LEASE_MARGIN;
  const refreshWithLease = createRefreshWithLease(context, vault, lease);

  return async (record, issuer) => {
    const deadline = Date.now() + 2 * outbound.timeout;
    let current = record;
    for (let delay = POLL.first; ; delay = Math.min(2 * delay, POLL.max)) {
      const now = clock();
      const holder = newSecret();
      if (await store.leaseProviderTokens(current.grantId, current.version, holder, now, now + lease)) {
        return refreshWithLease(holder, current, issuer);
      }
      const latest = await store.findProviderTokens(current.grantId);
      if (latest === null) return { kind: 'ended', reason: 'grant_expired' };
      if (latest.endedAt !== null) return { kind: 'ended', reason: latest.endReason ?? 'revoked_here' };
      if (latest.version !== current.version) return { kind: 'refreshed', record: latest };
      const left = (latest.leaseUntil ?? now) - now;
      if (left > 0 && (latest.leaseHolder === null || Date.now() >= deadline)) {
        return { kind: 'later', retryAfter: left, reason: 'the last refresh failed' };
      }
      current = latest;
      await pause(delay);
    }
  };
}

interface RemainingBackoff {
  /** Seconds. */
  readonly retryAfter: number;
  readonly reason: string;
}

interface Backoff {
  /** Starts the backoff of a grant after a failure. */
  start(grantId: string, failure: RemainingBackoff): void;
  /** The backoff that remains; `null`: the provider may be contacted. */
  remaining(grantId: string): RemainingBackoff | null;
}

/**
 * Backoff: after a failure at an identity provider, a grant's tokens are not checked or refreshed again for a while.
 * @param clock epoch seconds
 */
export function createBackoff(clock: () => number): Backoff {
  const failures = createLruCache<{ readonly until: number; readonly reason: string }>();
  return {
    start: (grantId, { retryAfter, reason }) =>
      void failures.set(grantId, { until: clock() + retryAfter, reason }),
    remaining(grantId) {
      const failure = failures.get(grantId);
      const retryAfter = failure === undefined ? 0 : failure.until - clock();
      return failure !== undefined && retryAfter > 0 ? { retryAfter, reason: failure.reason } : null;
    },
  };
}
