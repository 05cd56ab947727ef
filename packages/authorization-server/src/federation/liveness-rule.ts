/** The liveness rule of provider tokens: what the identity provider must confirm before a dependent token is honored. */
import type { ProviderTokensEndReason, ProviderTokensRecord } from '../store/index.ts';

/** What has to be done with provider tokens now. */
export type LivenessAction =
  /** Nothing: they are known to be alive. */
  | { readonly action: 'use'; readonly until: number }
  /** They have ended, or end now. */
  | { readonly action: 'end'; readonly reason: ProviderTokensEndReason }
  /** The access token has expired: nothing is honored before it is refreshed. */
  | { readonly action: 'refresh' }
  /** The access token is about to expire. If it cannot be refreshed now, it may be soon. */
  | { readonly action: 'refresh_ahead' }
  /** The last status check is too old. */
  | { readonly action: 'check_status' };

/**
 * "MUST validate the third-party token status before honoring an issued token, and handle expiry and renewal."
 * @param statusCheckInterval seconds for which the last status check is recent enough
 * @see MCP authorization 2025-03-26 §2.10.2, seed 4.5(3)
 */
export function nextLivenessAction(
  record: Pick<
    ProviderTokensRecord,
    'endedAt' | 'endReason' | 'expiresAt' | 'isRefreshable' | 'refreshFrom' | 'checkedAt'
  >,
  now: number,
  statusCheckInterval: number,
): LivenessAction {
  const { endedAt, endReason, expiresAt, isRefreshable, refreshFrom, checkedAt } = record;
  if (endedAt !== null) return { action: 'end', reason: endReason ?? 'revoked_here' };
  if (expiresAt !== null && expiresAt <= now) {
    return isRefreshable ? { action: 'refresh' } : { action: 'end', reason: 'expired_at_provider' };
  }
  if (refreshFrom !== null && refreshFrom <= now) return { action: 'refresh_ahead' };
  if (checkedAt + statusCheckInterval <= now) return { action: 'check_status' };
  const ends = [checkedAt + statusCheckInterval, refreshFrom, expiresAt].filter((one) => one !== null);
  return { action: 'use', until: Math.min(...ends) };
}

/**
 * Epoch seconds until which our tokens of a grant may live: they MUST NOT outlive its provider tokens, unless those are refreshed.
 * @see seed 4.5(3)
 */
export function grantableUntil({
  expiresAt,
  isRefreshable,
}: Pick<ProviderTokensRecord, 'expiresAt' | 'isRefreshable'>): number {
  return isRefreshable || expiresAt === null ? Number.MAX_SAFE_INTEGER : expiresAt;
}
