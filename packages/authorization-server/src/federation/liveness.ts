/** Applies the liveness rule to provider tokens: checks their status, refreshes them, or revokes what depends on them. */
import { createLruCache, temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { isAhead } from '../wrong-clock.ts';
import { nextLivenessAction } from './liveness-rule.ts';
import type { ProviderClient } from './provider/client.ts';
import { toIdentityProviderError } from './provider/error.ts';
import {
  type FederationContext,
  findTokenIssuer,
  type IdentityProvider,
} from './provider/identity-provider.ts';
import { type ProviderTokenSet, providerTokensContext } from './provider/token-set.ts';
import { createBackoff, createTokenRefresher, type TokenRefresher } from './refresh.ts';
import type { TokenRefresh } from './refresh-with-lease.ts';
import type { ProviderTokenRecords } from './token-records.ts';
import type { TokenVault } from './token-vault.ts';

/** The provider tokens of a grant, known to be alive. */
interface LiveProviderTokens {
  /** `null`: the grant has none. */
  readonly record: ProviderTokensRecord | null;
  /** Epoch seconds until which they need not be checked again. */
  readonly until: number;
}

/** Provider tokens that are alive, or that have changed, so that the rule has to be applied to them again. */
type AppliedRule = LiveProviderTokens | ProviderTokensRecord;

/** The provider tokens have ended. */
export class ProviderTokensEndedError extends Error {
  override readonly name: string = 'ProviderTokensEndedError';
}

export type ProviderTokenLiveness = ReturnType<typeof createProviderTokenLiveness>;

/** An identity provider with its client. */
type Issuer = Pick<IdentityProvider, 'id' | 'statusCheckInterval'> & { readonly client: ProviderClient };

/** Seconds for which it is cached that a grant has no provider tokens: it never obtains any later. */
const NONE_CACHED_FOR = 600;

/** How often the rule is applied again because another process has changed the record. */
const MAX_STEPS = 4;

export function createProviderTokenLiveness(
  context: FederationContext,
  vault: TokenVault,
  records: ProviderTokenRecords,
  clientFor: (identityProvider: IdentityProvider) => ProviderClient,
) {
  const { store, clock } = context;
  const { outbound, identityProviders } = context.options;
  const refresher = createTokenRefresher(context, vault, records);
  const perform = createPerform(context, refresher, createCheckTokenStatus(context, vault));
  const singleFlight = createSingleFlight<LiveProviderTokens>(outbound.timeout);
  const cache = createLruCache<LiveProviderTokens & { readonly checkedAt: number }>();

  /**
   * Returns the provider tokens of a grant, from the cache for as long as the last check allows.
   * @throws ProviderTokensEndedError
   * @throws OAuthError `temporarily_unavailable` if their status cannot be determined
   */
  async function check(grantId: string): Promise<LiveProviderTokens> {
    const cached = cache.get(grantId);
    const checkedAt = clock();
    if (cached !== undefined && checkedAt < cached.until && !isAhead(cached.checkedAt, checkedAt))
      return cached;
    return singleFlight.run(grantId, async () => {
      const live = await ensureLive(grantId);
      cache.set(grantId, { ...live, checkedAt });
      return live;
    });
  }

  function findIssuer(record: ProviderTokensRecord): Issuer | undefined {
    const identityProvider = findTokenIssuer(identityProviders, record);
    return identityProvider && { ...identityProvider, client: clientFor(identityProvider) };
  }

  async function ensureLive(grantId: string): Promise<LiveProviderTokens> {
    let record = await store.findProviderTokens(grantId);
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      if (record === null) return { record, until: clock() + NONE_CACHED_FOR };
      const issuer = findIssuer(record);
      // A provider that was removed, or has another issuer, is not trusted any more. Nothing is revoked: it may be a configuration mistake.
      if (issuer === undefined) {
        throw new ProviderTokensEndedError('the identity provider is no longer configured');
      }
      const next = await perform(record, issuer);
      if ('until' in next) return next;
      record = next;
    }
    throw temporarilyUnavailable(`provider tokens of ${grantId}: changed concurrently again and again`);
  }

  /**
   * Refreshes provider tokens because their issuer rejects the access token, unless another process has done so meanwhile.
   * @param version that was rejected
   * @throws ProviderTokensEndedError
   * @throws OAuthError `temporarily_unavailable`
   */
  async function replace(grantId: string, version: number): Promise<ProviderTokensRecord> {
    const record = await store.findProviderTokens(grantId);
    const issuer = record === null ? undefined : findIssuer(record);
    if (record === null || record.endedAt !== null || issuer === undefined) {
      throw new ProviderTokensEndedError('there are none');
    }
    if (record.version !== version) return record;
    return changedBy(await refresher.replace(record, issuer.client), record);
  }

  return {
    check,
    replace,
    /** Resolves when no refresh is in progress, whose response would be lost. */
    whenIdle: refresher.whenIdle,
  };
}

/** Makes the function that performs what the rule requires now, once. */
function createPerform(
  { store, clock }: FederationContext,
  refresher: TokenRefresher<ProviderTokensRecord, ProviderTokenSet>,
  checkTokenStatus: ReturnType<typeof createCheckTokenStatus>,
) {
  return perform;

  async function perform(record: ProviderTokensRecord, issuer: Issuer): Promise<AppliedRule> {
    const next = nextLivenessAction(record, clock(), issuer.statusCheckInterval);
    switch (next.action) {
      case 'use':
        return { record, until: next.until };
      case 'end':
        return changedBy(await refresher.end(record, next.reason), record);
      case 'refresh':
        return changedBy(await refresher.refresh(record, issuer.client), record);
      case 'refresh_ahead': {
        const refresh = await refresher.refresh(record, issuer.client);
        // The current access token has not expired: what matters is whether it is alive.
        return refresh.kind === 'later' ? useOrCheck(record, issuer) : changedBy(refresh, record);
      }
      case 'check_status':
        return checkStatus(record, issuer);
    }
  }

  async function useOrCheck(record: ProviderTokensRecord, issuer: Issuer): Promise<AppliedRule> {
    const next = nextLivenessAction({ ...record, refreshFrom: null }, clock(), issuer.statusCheckInterval);
    if (next.action === 'use') return { record, until: Math.min(next.until, clock() + RECHECK_AFTER) };
    return checkStatus(record, issuer);
  }

  async function checkStatus(record: ProviderTokensRecord, issuer: Issuer): Promise<AppliedRule> {
    const at = clock();
    const status = await checkTokenStatus(record, issuer);
    if (status === 'changed') return changedBy(await refresher.end(record, 'changed_by_provider'), record);
    // The refresh token may outlive the access token: the provider decides when it is used.
    if (status === 'dead') return changedBy(await refresher.replace(record, issuer.client), record);
    if (status === 'alive') await store.recordProviderTokensCheck(record.grantId, at);
    const alive = { ...record, checkedAt: at };
    const next = nextLivenessAction({ ...alive, refreshFrom: null }, at, issuer.statusCheckInterval);
    return next.action === 'use' ? { record: alive, until: next.until } : alive;
  }
}

function changedBy(
  refresh: TokenRefresh<ProviderTokensRecord>,
  { identityProvider }: ProviderTokensRecord,
): ProviderTokensRecord {
  if (refresh.kind === 'refreshed') return refresh.tokens;
  if (refresh.kind === 'ended') throw new ProviderTokensEndedError(refresh.reason);
  throw temporarilyUnavailable(`${identityProvider}: ${refresh.reason}`, refresh.retryAfter);
}

/** Seconds before the next check at an unavailable provider. */
const RECHECK_AFTER = 5;

function createCheckTokenStatus({ clock, events }: ServerContext, vault: TokenVault) {
  const backoff = createBackoff(clock);
  /** @throws OAuthError `temporarily_unavailable` if the provider is unavailable, or recently was */
  return async (
    { grantId, accountId, subject, encryptedTokens }: ProviderTokensRecord,
    { id, client }: Issuer,
  ): ReturnType<ProviderClient['checkStatus']> => {
    const waiting = backoff.remaining(grantId);
    if (waiting !== null) throw temporarilyUnavailable(`${id}: ${waiting.reason}`, waiting.retryAfter);
    if (encryptedTokens === null) return 'dead';
    const tokens = await vault.decrypt<ProviderTokenSet>(encryptedTokens, providerTokensContext(grantId));
    try {
      return await client.checkStatus(tokens, subject);
    } catch (cause) {
      const error = toIdentityProviderError(cause);
      const retryAfter = error.retryAfter ?? RECHECK_AFTER;
      const reason = `status: ${error.message}`;
      backoff.start(grantId, { retryAfter, reason });
      events({ type: 'identity_provider.failed', identityProvider: id, grantId, accountId, reason });
      throw temporarilyUnavailable(`${id}: ${reason}`, retryAfter);
    }
  };
}
