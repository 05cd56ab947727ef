/** Refreshes upstream tokens: single flight within a process, one lease holder among all processes, and backoff after failures. */
import { setTimeout as pause } from 'node:timers/promises';
import { createLruCache } from '@portcullis/protocol';
import { newSecret } from '../secrets.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { ProviderTokensEndReason, UpstreamTokens } from '../store/index.ts';
import { secondsUntil } from '../wrong-clock.ts';
import { MAX_PROVIDER_RETRY_AFTER } from './provider/error.ts';
import type { FederationContext } from './provider/identity-provider.ts';
import type { ProviderTokenSet } from './provider/token-set.ts';
import { createRefreshWithLease, type TokenRefresh } from './refresh-with-lease.ts';
import type { TokenIssuer, TokenRecords } from './token-records.ts';
import type { TokenVault } from './token-vault.ts';

export type TokenRefresher<
  TokensRecord extends UpstreamTokens,
  TokenSet extends ProviderTokenSet,
> = ReturnType<typeof createTokenRefresher<TokensRecord, TokenSet>>;

export function createTokenRefresher<TokensRecord extends UpstreamTokens, TokenSet extends ProviderTokenSet>(
  context: FederationContext,
  vault: TokenVault,
  records: TokenRecords<TokensRecord, TokenSet>,
) {
  const { clock, events } = context;
  const refreshOrWait = createRefreshOrWait(context, vault, records);
  const singleFlight = createSingleFlight<TokenRefresh<TokensRecord>>(context.options.outbound.timeout);
  const pending = new Set<Promise<unknown>>();
  const backoff = createBackoff(clock);

  /** Refreshes tokens, or waits for the refresh in progress. If their issuer has revoked them, they end. */
  async function refresh(
    tokens: TokensRecord,
    issuer: TokenIssuer<TokenSet>,
  ): Promise<TokenRefresh<TokensRecord>> {
    const key = records.keyOf(tokens);
    const waiting = backoff.remaining(key);
    if (waiting !== null) return { kind: 'later', ...waiting };
    const outcome = await singleFlight.run(key, async () => {
      const work = refreshOrWait(tokens, issuer);
      pending.add(work);
      const refreshed = await work.finally(() => pending.delete(work));
      if (refreshed.kind === 'later') backoff.start(key, refreshed);
      return refreshed;
    });
    return outcome.kind === 'ended' ? end(tokens, outcome.reason) : outcome;
  }

  /** Ends tokens, unless another process has refreshed them in the meantime. */
  async function end(
    tokens: TokensRecord,
    reason: ProviderTokensEndReason,
  ): Promise<TokenRefresh<TokensRecord>> {
    // Point of no return: the tokens have ended, and what depends on them.
    if (tokens.endedAt === null && (await records.end(tokens, reason, clock()))) {
      events({ type: 'provider_token.ended', ...records.about(tokens), reason });
      return { kind: 'ended', reason };
    }
    const current = await records.find(tokens);
    return current === null || current.endedAt !== null
      ? { kind: 'ended', reason }
      : { kind: 'refreshed', tokens: current };
  }

  return {
    refresh,
    end,
    /** Refreshes tokens that their issuer rejects, or ends those that cannot be refreshed. */
    replace: (tokens: TokensRecord, issuer: TokenIssuer<TokenSet>): Promise<TokenRefresh<TokensRecord>> =>
      tokens.isRefreshable ? refresh(tokens, issuer) : end(tokens, 'revoked_by_provider'),
    /** Resolves when no refresh is in progress, also none that its requests no longer wait for: its response would be lost. */
    async whenIdle(): Promise<void> {
      await Promise.allSettled(pending);
    },
  };
}

/** Seconds that a lease lasts beyond the longest exchange; then another process replaces one that crashed. */
const LEASE_MARGIN = 10;
/** Milliseconds between polls while another process refreshes. */
const POLL = { first: 20, max: 400 };

/** Creates the function that acquires the lease and refreshes, or waits for the process with the lease. */
function createRefreshOrWait<TokensRecord extends UpstreamTokens, TokenSet extends ProviderTokenSet>(
  context: FederationContext,
  vault: TokenVault,
  records: TokenRecords<TokensRecord, TokenSet>,
): (tokens: TokensRecord, issuer: TokenIssuer<TokenSet>) => Promise<TokenRefresh<TokensRecord>> {
  const { clock } = context;
  const { outbound } = context.options;
  // The issuer's metadata may have to be fetched first, and a key afterwards.
  const lease = Math.ceil((3 * outbound.timeout) / 1000) + LEASE_MARGIN;
  const refreshWithLease = createRefreshWithLease(context, vault, records, lease);

  return async (tokens, issuer) => {
    const deadline = Date.now() + 2 * outbound.timeout;
    let current = tokens;
    for (let delay = POLL.first; ; delay = Math.min(2 * delay, POLL.max)) {
      const now = clock();
      const holder = newSecret();
      if (await records.lease(current, holder, now, now + lease)) {
        return refreshWithLease(holder, current, issuer);
      }
      const latest = await records.find(current);
      const outcome = outcomeWithoutLease(current, latest, now, Date.now() < deadline);
      if ('kind' in outcome) return outcome;
      current = outcome.waitWith;
      await pause(delay);
    }
  };
}

/**
 * What a process does that did not get the lease: it returns what another has brought about, or waits for it.
 * @param latest the record as it is now
 * @param isPatient whether it may wait longer
 */
export function outcomeWithoutLease<TokensRecord extends UpstreamTokens>(
  current: TokensRecord,
  latest: TokensRecord | null,
  now: number,
  isPatient: boolean,
): TokenRefresh<TokensRecord> | { readonly waitWith: TokensRecord } {
  if (latest === null) return { kind: 'ended', reason: 'grant_expired' };
  if (latest.endedAt !== null) return { kind: 'ended', reason: latest.endReason ?? 'revoked_here' };
  if (latest.version !== current.version) return { kind: 'refreshed', tokens: latest };
  const left = Math.min((latest.leaseUntil ?? now) - now, MAX_PROVIDER_RETRY_AFTER);
  if (left > 0 && (latest.leaseHolder === null || !isPatient)) {
    return { kind: 'later', retryAfter: left, reason: 'the last refresh failed' };
  }
  return { waitWith: latest };
}

interface RemainingBackoff {
  /** Seconds. */
  readonly retryAfter: number;
  readonly reason: string;
}

/**
 * Backoff: after a failure at an issuer, its tokens are not checked or refreshed again for a while.
 * @param clock epoch seconds
 */
export function createBackoff(clock: () => number) {
  const failures = createLruCache<RemainingBackoff & { readonly until: number }>();
  return {
    /** Starts the backoff of a record after a failure. */
    start: (key: string, { retryAfter, reason }: RemainingBackoff): void =>
      void failures.set(key, { until: clock() + retryAfter, retryAfter, reason }),
    /** The backoff that remains; `null`: the issuer may be contacted. */
    remaining(key: string): RemainingBackoff | null {
      const failure = failures.get(key);
      if (failure === undefined) return null;
      const retryAfter = secondsUntil(failure.until, clock(), failure.retryAfter);
      return retryAfter > 0 ? { retryAfter, reason: failure.reason } : null;
    },
  };
}
