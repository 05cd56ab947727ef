/** Step-up authentication (RFC 9470): checks how and when the user signed in, for operations that demand it. */
import {
  type AuthenticationRequirement,
  OAuthError,
  SKEW_TOLERANCE,
  satisfiesAcr,
} from '@portcullis/protocol';
import type { VerifiedClaims } from '../principal.ts';
import type { VerifiedToken } from './verified-token.ts';

/**
 * A token with sufficient scopes: the next one needs them as well, and no others.
 * @param tolerance seconds by which clocks may differ
 * @throws OAuthError `insufficient_user_authentication`, with all that is demanded
 * @see RFC 9470 §3 and §6
 */
export function checkUserAuthentication(
  { claims, principal }: Pick<VerifiedToken, 'claims' | 'principal'>,
  demanded: readonly AuthenticationRequirement[],
  now: number,
  tolerance: number,
): void {
  const unmet = demanded.filter((one) => !isMet(claims, one, now, tolerance));
  if (unmet.length === 0) return;
  const ages = unmet.flatMap(({ maxAge }) => maxAge ?? []);
  const acrValues = unmet.find((one) => one.acrValues !== undefined)?.acrValues;
  const description =
    acrValues === undefined
      ? 'This operation requires a more recent sign-in.'
      : 'This operation requires another kind of sign-in.';
  throw new OAuthError('insufficient_user_authentication', description, {
    reason: 'the sign-in of the user is not sufficient',
    scopes: principal.scopes,
    authentication: {
      ...(ages.length > 0 && { maxAge: Math.min(...ages) }),
      ...(acrValues && { acrValues }),
    },
  });
}

function isMet(
  { auth_time: time, acr }: VerifiedClaims,
  { maxAge, acrValues }: AuthenticationRequirement,
  now: number,
  tolerance: number,
): boolean {
  const isKnown = typeof time === 'number' && time <= now + SKEW_TOLERANCE;
  const isRecent = maxAge === undefined || (isKnown && now - time <= maxAge + tolerance);
  return isRecent && (acrValues === undefined || (typeof acr === 'string' && satisfiesAcr(acr, acrValues)));
}
