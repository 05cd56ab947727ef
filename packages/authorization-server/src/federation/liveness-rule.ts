/** The law of bonds: what has to be known of the third party before something that rests on it is honoured. */
import type { ProviderTokensEndReason, ProviderTokensRecord } from '../store/index.ts';

/** What a bond needs now. */
export type LivenessAction =
  /** Nothing: it is known to be alive. */
  | { readonly do: 'honour'; readonly until: number }
  /** It has ended, or ends now. */
  | { readonly do: 'end'; readonly reason: ProviderTokensEndReason }
  /** Its token has expired: nothing is honoured before it is renewed. */
  | { readonly do: 'renew' }
  /** Its token is about to expire. If it cannot be renewed now, it may be soon. */
  | { readonly do: 'renew-ahead' }
  /** When it was last known to be alive is too long ago. */
  | { readonly do: 'ask' };

/**
 * The server MUST validate the third-party token status before honouring an issued token, and handle expiry and renewal.
 * @param statusCheckInterval seconds for which what is known is good enough
 * @see seed 4.5(3)
 */
export function nextLivenessAction(
  bond: Pick<
    ProviderTokensRecord,
    'endedAt' | 'endReason' | 'expiresAt' | 'isRefreshable' | 'refreshFrom' | 'checkedAt'
  >,
  now: number,
  statusCheckInterval: number,
): LivenessAction {
  const { endedAt, endReason, expiresAt, isRefreshable, refreshFrom, checkedAt } = bond;
  if (endedAt !== null) return { do: 'end', reason: endReason ?? 'revoked_here' };
  if (expiresAt !== null && expiresAt <= now) {
    return isRefreshable ? { do: 'renew' } : { do: 'end', reason: 'expired_at_provider' };
  }
  if (refreshFrom !== null && refreshFrom <= now) return { do: 'renew-ahead' };
  if (checkedAt + statusCheckInterval <= now) return { do: 'ask' };
  const ends = [checkedAt + statusCheckInterval, refreshFrom, expiresAt].filter((one) => one !== null);
  return { do: 'honour', until: Math.min(...ends) };
}

/**
 * Epoch seconds after which a token of ours that rests on a bond may not live: ours MUST NOT outlive what it rests on. What is
 * renewed lives on.
 * @see seed 4.5(3)
 */
export function grantableUntil({
  expiresAt,
  isRefreshable,
}: Pick<ProviderTokensRecord, 'expiresAt' | 'isRefreshable'>): number {
  return isRefreshable || expiresAt === null ? Number.MAX_SAFE_INTEGER : expiresAt;
}
