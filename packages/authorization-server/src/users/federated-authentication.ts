/** How a user signed in at an identity provider: what its claims say, as far as the configuration trusts them. */
import type { UserAuthentication } from '@portcullis/protocol';

type Claims = Readonly<Record<string, unknown>>;

/** Not registered: RFC 8176 has no method for the login at another server. */
const FEDERATED: readonly string[] = ['fed'];

/** @param twoFactorValues values of `acr` and `amr` that mean two factors */
export function federatedMethods(
  { acr, amr }: Claims,
  twoFactorValues: readonly string[],
): readonly string[] {
  const values: readonly unknown[] = [acr, ...(Array.isArray(amr) ? amr : [])];
  const isTwoFactor = values.some((value) => typeof value === 'string' && twoFactorValues.includes(value));
  return isTwoFactor ? [...FEDERATED, 'mfa'] : FEDERATED;
}

/** `auth_time` in epoch seconds, never ahead of `now`; `null` if it is missing. @see OpenID Connect Core 1.0 §2 */
export function federatedSignInTime({ auth_time: time }: Claims, now: number): number | null {
  return typeof time === 'number' && Number.isSafeInteger(time) && time > 0 ? Math.min(time, now) : null;
}

/** The authentication that an assertion or an ID token states; `null` if it does not say when. */
export function readFederatedAuthentication(
  claims: Claims,
  twoFactorValues: readonly string[],
  now: number,
): UserAuthentication | null {
  const time = federatedSignInTime(claims, now);
  return time === null ? null : { time, methods: federatedMethods(claims, twoFactorValues) };
}
