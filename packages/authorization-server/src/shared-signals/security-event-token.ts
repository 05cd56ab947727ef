/** Verifies security event tokens of a transmitter: type, signature, issuer and audience. */
import { isMembers, type JsonFields } from '@portcullis/http';
import { errors } from 'jose';
import { ISSUER_CLOCK_TOLERANCE } from '../assertions/assertion-error.ts';
import type { FindIssuerKeys } from '../assertions/issuer-keys.ts';
import { verifyIssuedJwt } from '../assertions/verify-issued-jwt.ts';
import { typeOf } from '../clients/verify-jwt.ts';

/** One event of a security event token. */
export interface SecurityEvent {
  /** The URI of its type. */
  readonly type: string;
  /** The subject, in one of several formats. */
  readonly subject: unknown;
  readonly details: JsonFields;
}

/** What a verified security event token states. */
export interface SecurityEventToken {
  /** Epoch seconds. */
  readonly issuedAt: number;
  readonly events: readonly SecurityEvent[];
}

/** The error for the transmitter. @see RFC 8935 §2.4 */
export class SecurityEventError extends Error {
  override readonly name = 'SecurityEventError';
  readonly code: 'invalid_request' | 'invalid_key' | 'invalid_issuer' | 'invalid_audience';

  constructor(code: SecurityEventError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Who may send security event tokens, and to whom. */
interface SecurityEventRules {
  readonly issuer: string;
  /** As the configuration of the transmitter names it. */
  readonly jwksUri: string;
  readonly audience: readonly string[];
  /** Epoch seconds. */
  readonly now: number;
}

const MAX_LENGTH = 16_384;

/**
 * A security event token does not expire: what it ends is older than itself.
 * @throws SecurityEventError, or OAuthError `temporarily_unavailable` while the keys of the transmitter are
 * @see RFC 8417 §2.2, Shared Signals Framework 1.0 §4.1
 */
export async function verifySecurityEventToken(
  token: string,
  { issuer, jwksUri, audience, now }: SecurityEventRules,
  findKeys: FindIssuerKeys,
): Promise<SecurityEventToken> {
  if (token.length > MAX_LENGTH) throw invalid('it is too long');
  try {
    const keysOf = { issuer, jwksUri, isDiscovered: true };
    const { payload, protectedHeader } = await verifyIssuedJwt(token, keysOf, findKeys, now, {
      audience: [...audience],
      requiredClaims: ['iat', 'jti'],
      clockTolerance: ISSUER_CLOCK_TOLERANCE,
    });
    // "Explicit typing": no other token of this issuer is accepted. @see RFC 8417 §2.3
    if (typeOf(protectedHeader) !== 'secevent+jwt') throw invalid('its typ is not secevent+jwt');
    const { iat = 0, exp, sub } = payload;
    // "The exp claim MUST NOT be used", and neither must `sub`: an ID token has both.
    if (exp !== undefined || sub !== undefined) throw invalid('it has the claim exp or sub');
    if (iat > now + ISSUER_CLOCK_TOLERANCE) throw invalid('it was issued in the future');
    // PostgreSQL does not compare a fraction with its integers. @see RFC 7519 §2, NumericDate
    return { issuedAt: Math.floor(iat), events: readEvents(payload) };
  } catch (error) {
    if (error instanceof errors.JOSEError) throw toSecurityEventError(error);
    throw error;
  }
}

function readEvents({ events, sub_id: subject }: JsonFields): readonly SecurityEvent[] {
  if (!isMembers(events) || Object.keys(events).length === 0) throw invalid('it has no events');
  return Object.entries(events).map(([type, details]) => {
    if (!isMembers(details)) throw invalid('its event is no object');
    // Before the final framework, the subject was a member of the event.
    return { type, subject: subject ?? details['subject'], details };
  });
}

function toSecurityEventError(error: errors.JOSEError): SecurityEventError {
  const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : null;
  if (claim === 'iss') return new SecurityEventError('invalid_issuer', 'Its issuer is another transmitter.');
  if (claim === 'aud') return new SecurityEventError('invalid_audience', 'Its audience is another receiver.');
  const isKey =
    error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
  return isKey
    ? new SecurityEventError('invalid_key', 'No key of the transmitter verifies its signature.')
    : invalid(error.message);
}

function invalid(reason: string): SecurityEventError {
  return new SecurityEventError('invalid_request', `The security event token is not valid: ${reason}.`);
}
