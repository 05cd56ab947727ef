/** When upstream tokens are refreshed, and what the identity provider must confirm before a token that depends on it is honored. */
import type { ProviderTokensEndReason, UpstreamTokens } from '../store/index.ts';
import { isAhead } from '../wrong-clock.ts';

/** What has to be done with tokens now. */
export type RefreshAction =
  /** Nothing: as far as their expiry is known, they can be used. */
  | { readonly action: 'use'; readonly until: number }
  /** They have ended, or end now. */
  | { readonly action: 'end'; readonly reason: ProviderTokensEndReason }
  /** The access token has expired: nothing is honored before it is refreshed. */
  | { readonly action: 'refresh' }
  /** The access token is about to expire. If it cannot be refreshed now, it may be soon. */
  | { readonly action: 'refresh_ahead' };

export type LivenessAction =
  | RefreshAction
  /** The last status check is too old. */
  | { readonly action: 'check_status' };

type Times = Pick<UpstreamTokens, 'endedAt' | 'endReason' | 'expiresAt' | 'isRefreshable' | 'refreshFrom'>;

export function nextRefreshAction(tokens: Times, now: number): RefreshAction {
  const { endedAt, endReason, expiresAt, isRefreshable, refreshFrom } = tokens;
  if (endedAt !== null) return { action: 'end', reason: endReason ?? 'revoked_here' };
  if (expiresAt !== null && expiresAt <= now) {
    return isRefreshable ? { action: 'refresh' } : { action: 'end', reason: 'expired_at_provider' };
  }
  if (refreshFrom !== null && refreshFrom <= now) return { action: 'refresh_ahead' };
  const ends = [refreshFrom, expiresAt].filter((one) => one !== null);
  return { action: 'use', until: Math.min(Number.MAX_SAFE_INTEGER, ...ends) };
}

/**
 * "MUST validate the third-party token status before honoring an issued token, and handle expiry and renewal."
 * @param statusCheckInterval seconds for which the last status check is recent enough
 * @see MCP authorization 2025-03-26 §2.10.2, seed 4.5(3)
 */
export function nextLivenessAction(
  tokens: Times & Pick<UpstreamTokens, 'checkedAt'>,
  now: number,
  statusCheckInterval: number,
): LivenessAction {
  const next = nextRefreshAction(tokens, now);
  if (next.action !== 'use') return next;
  const recheckAt = tokens.checkedAt + statusCheckInterval;
  if (recheckAt <= now || isAhead(tokens.checkedAt, now)) return { action: 'check_status' };
  return { action: 'use', until: Math.min(next.until, recheckAt) };
}

/**
 * Epoch seconds until which our tokens of a grant may live: they MUST NOT outlive its provider tokens, unless those are refreshed.
 * @see seed 4.5(3)
 */
export function grantableUntil({
  expiresAt,
  isRefreshable,
}: Pick<UpstreamTokens, 'expiresAt' | 'isRefreshable'>): number {
  return isRefreshable || expiresAt === null ? Number.MAX_SAFE_INTEGER : expiresAt;
}
