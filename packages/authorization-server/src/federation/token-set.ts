/** What a third party gave: its tokens, and what they are good for. */
import type { Scopes } from '@portcullis/protocol';

/** Secrets of the third party. In this form they are only ever in memory. */
export interface ProviderTokenSet {
  readonly accessToken: string;
  readonly tokenType: string;
  /** `null`: nothing renews the access token. */
  readonly refreshToken: string | null;
}

/** Where the envelope belongs in which the tokens of a bond rest. */
export function providerTokensContext(grantId: string): string {
  return `bond ${grantId}`;
}

export interface ProviderTokenResponse {
  readonly tokens: ProviderTokenSet;
  readonly scopes: Scopes;
  /** Seconds for which the access token lives; `null` when they did not say. */
  readonly lifetime: number | null;
}

/** Seconds before its expiry from which an access token is renewed, and the part of its life that this is at most. */
const AHEAD = { seconds: 60, part: 0.25 };

/** The times of a bond, of what was given. */
export function providerTokenTimes(
  { tokens, lifetime }: ProviderTokenResponse,
  now: number,
): {
  readonly expiresAt: number | null;
  readonly isRefreshable: boolean;
  readonly refreshFrom: number | null;
} {
  const isRefreshable = tokens.refreshToken !== null;
  if (lifetime === null) return { expiresAt: null, isRefreshable, refreshFrom: null };
  const expiresAt = now + Math.floor(lifetime);
  const ahead = Math.ceil(Math.min(AHEAD.seconds, lifetime * AHEAD.part));
  return { expiresAt, isRefreshable, refreshFrom: isRefreshable ? expiresAt - ahead : null };
}
