/** The tokens that an identity provider issues, and when they expire and are refreshed. */
import type { Scopes } from '@portcullis/protocol';

/** Secrets of the identity provider: in this form they only exist in memory. */
export interface ProviderTokenSet {
  readonly accessToken: string;
  readonly tokenType: string;
  /** `null`: the access token cannot be refreshed. */
  readonly refreshToken: string | null;
  /** The ID token of the login, for token exchange at the enterprise's identity provider (ID-JAG); absent: none. */
  readonly idToken?: string;
}

/** The encryption context of a grant's provider tokens. */
export function providerTokensContext(grantId: string): string {
  return `provider tokens ${grantId}`;
}

export interface ProviderTokenResponse {
  readonly tokens: ProviderTokenSet;
  readonly scopes: Scopes;
  /** Seconds for which the access token is valid; `null` if the provider did not say. */
  readonly lifetime: number | null;
}

/** An access token is refreshed this long before it expires: seconds, and at most this part of its lifetime. */
const REFRESH_AHEAD = { seconds: 60, part: 0.25 };

/** Seconds that a lifetime counts at most, some thirty years: SQLite returns no integer above 2^53 - 1, which some providers send for "never". */
const MAX_LIFETIME = 1e9;

/** When the tokens of a response expire and are refreshed. */
export function providerTokenTimes(
  { tokens, lifetime: stated }: ProviderTokenResponse,
  now: number,
): {
  readonly expiresAt: number | null;
  readonly isRefreshable: boolean;
  readonly refreshFrom: number | null;
} {
  const isRefreshable = tokens.refreshToken !== null;
  if (stated === null) return { expiresAt: null, isRefreshable, refreshFrom: null };
  const lifetime = Math.min(stated, MAX_LIFETIME);
  const expiresAt = now + Math.floor(lifetime);
  const ahead = Math.ceil(Math.min(REFRESH_AHEAD.seconds, lifetime * REFRESH_AHEAD.part));
  return { expiresAt, isRefreshable, refreshFrom: isRefreshable ? expiresAt - ahead : null };
}
