/** Verifies ID tokens of federated logins that clients exchange: signature, issuer, audience and lifetime. */
import { OAuthError } from '@portcullis/protocol';
import { decodeJwt, errors, type JWTPayload } from 'jose';
import { typeOf } from '../clients/verify-jwt.ts';
import { ISSUER_CLOCK_TOLERANCE } from './assertion-error.ts';
import type { FindIssuerKeys } from './issuer-keys.ts';
import { verifyIssuedJwt } from './verify-issued-jwt.ts';

interface IdTokenRules {
  /** Identity providers of this server. */
  readonly issuers: readonly string[];
  /** The client that the ID token was issued to. */
  readonly audience: string;
  /** Epoch seconds. */
  readonly now: number;
}

/**
 * @throws OAuthError `invalid_grant`, or `temporarily_unavailable` while the provider's keys are
 * @see OpenID Connect Core 1.0 §3.1.3.7
 */
export async function verifyIdToken(
  token: string,
  { issuers, audience, now }: IdTokenRules,
  findKeys: FindIssuerKeys,
): Promise<JWTPayload & { readonly iss: string; readonly sub: string }> {
  try {
    const issuer = issuers.find((one) => one === decodeJwt(token).iss);
    if (issuer === undefined) throw invalidIdToken('its issuer is no identity provider of this server');
    const { payload, protectedHeader } = await verifyIssuedJwt(token, { issuer }, findKeys, now, {
      audience,
      requiredClaims: ['exp', 'iat', 'sub'],
    });
    const { aud, sub, azp, iat = 0 } = payload;
    const isOnly = typeof aud === 'string' || aud?.length === 1;
    if (!isOnly || (azp !== undefined && azp !== audience))
      throw invalidIdToken('it is for another client, too');
    if (![undefined, 'jwt'].includes(typeOf(protectedHeader))) throw invalidIdToken('its typ is another');
    // Only a logout token has events, and need not say so by its typ. @see OpenID Connect Back-Channel Logout 1.0 §2.4
    if (payload['events'] !== undefined) throw invalidIdToken('it is a logout token');
    if (iat > now + ISSUER_CLOCK_TOLERANCE) throw invalidIdToken('it was issued in the future');
    if (typeof sub !== 'string' || sub === '' || sub.includes('\0'))
      throw invalidIdToken('its sub is no text');
    return { ...payload, iss: issuer, sub };
  } catch (error) {
    if (error instanceof errors.JOSEError) throw invalidIdToken(error.message);
    throw error;
  }
}

function invalidIdToken(reason: string): OAuthError {
  return new OAuthError('invalid_grant', 'The subject_token must be a current ID token of this client.', {
    reason: `ID token: ${reason}`,
  });
}
