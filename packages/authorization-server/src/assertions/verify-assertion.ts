/** Verifies assertions of trusted issuers: signature, type, audience and lifetime. */
import { ID_JAG_TYPE, OAuthError } from '@portcullis/protocol';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import { KEY_FETCH_PAUSE } from '../clients/client-keys.ts';
import { typeOf } from '../clients/verify-jwt.ts';
import type { ServerContext } from '../context.ts';
import { ISSUER_CLOCK_TOLERANCE, invalidAssertion } from './assertion-error.ts';
import type { TrustedIssuer } from './assertion-issuers.ts';
import type { FindIssuerKeys } from './issuer-keys.ts';
import { verifyIssuedJwt } from './verify-issued-jwt.ts';

/** An assertion with a valid signature, audience and lifetime, and the entries of its issuer for its type. */
export interface VerifiedAssertion {
  readonly claims: JWTPayload & { readonly iss: string; readonly sub: string; readonly exp: number };
  readonly use: TrustedIssuer['use'];
  readonly entries: readonly TrustedIssuer[];
}

/** @throws OAuthError `invalid_grant`, or `temporarily_unavailable` while the issuer's keys are */
export type VerifyAssertion = (
  assertion: string,
  issuers: readonly TrustedIssuer[],
) => Promise<VerifiedAssertion>;

const MAX_LENGTH = 16_384;
/** Seconds until an assertion may expire at most. */
const MAX_LIFETIME: Readonly<Record<TrustedIssuer['use'], number>> = { 'id-jag': 3600, workload: 86_400 };
/** Types of tokens of workloads, by the platforms that have one. Never an access token or a client assertion. */
const WORKLOAD_TYPES: ReadonlySet<string | undefined> = new Set([undefined, 'jwt']);

/** @see RFC 7523 §3, draft-ietf-oauth-identity-assertion-authz-grant §4.4 */
export function createVerifyAssertion(
  { clock, options }: Pick<ServerContext, 'clock' | 'options'>,
  findKeys: FindIssuerKeys,
): VerifyAssertion {
  const { issuer: own } = options;
  /** "The aud claim MUST contain the issuer identifier"; workload identity federation uses the token endpoint. @see RFC 7523 §3 */
  const audiences = { 'id-jag': own, workload: [own, `${new URL(own).origin}/token`] };
  return async (assertion, issuers) => {
    const { iss, use } = readUnverified(assertion);
    const ofIssuer = issuers.filter(({ issuer }) => issuer === iss);
    const [first] = ofIssuer;
    // Before anything is fetched: an assertion of another issuer causes no request.
    if (first === undefined) throw invalidAssertion('its issuer is not trusted');
    const entries = ofIssuer.filter((entry) => entry.use === use);
    if (entries.length === 0) throw invalidAssertion('its typ is another');
    const claims = await verify(assertion, first, use);
    checkTimes(claims, use);
    return { claims, use, entries };
  };

  async function verify(
    assertion: string,
    issuer: TrustedIssuer,
    use: TrustedIssuer['use'],
  ): Promise<VerifiedAssertion['claims']> {
    const startedAt = clock();
    let fetchedAt = startedAt;
    const find: FindIssuerKeys = async (...wanted) => {
      const keys = await findKeys(...wanted);
      fetchedAt = keys.fetchedAt ?? startedAt;
      return keys;
    };
    try {
      const { payload } = await verifyIssuedJwt(assertion, issuer, find, clock(), {
        audience: audiences[use],
        requiredClaims: ['exp', 'sub'],
        clockTolerance: ISSUER_CLOCK_TOLERANCE,
      });
      return payload as VerifiedAssertion['claims'];
    } catch (error) {
      // The issuer may have published the key since the last fetch, which another assertion with an unknown key has caused.
      if (error instanceof errors.JWKSNoMatchingKey && fetchedAt < startedAt)
        throw keysMayBeOld(fetchedAt + KEY_FETCH_PAUSE - startedAt);
      if (error instanceof errors.JOSEError) throw invalidAssertion(error.message);
      throw error;
    }
  }

  function checkTimes({ aud, exp, iat, sub }: VerifiedAssertion['claims'], use: TrustedIssuer['use']): void {
    // An assertion for several servers could be replayed among them.
    if (Array.isArray(aud) && aud.length !== 1) throw invalidAssertion('it has several audiences');
    // PostgreSQL stores no U+0000.
    if (typeof sub !== 'string' || sub === '' || sub.length > 255 || sub.includes('\0'))
      throw invalidAssertion('it has no valid sub');
    if (use === 'id-jag' && iat === undefined) throw invalidAssertion('it has no iat');
    if (iat !== undefined && !(iat <= clock() + ISSUER_CLOCK_TOLERANCE))
      throw invalidAssertion('it was issued in the future');
    if (exp > clock() + MAX_LIFETIME[use] + ISSUER_CLOCK_TOLERANCE) {
      throw invalidAssertion(`it lives longer than ${MAX_LIFETIME[use]} seconds`);
    }
  }
}

function keysMayBeOld(retryAfter: number): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    'The newest keys of the issuer are not known yet. Try again later.',
    {
      reason: 'assertion: no such key in a set that was fetched a moment before',
      retryAfter: Math.max(1, retryAfter),
    },
  );
}

/** The issuer and type that an assertion claims, which choose its keys and rules. */
function readUnverified(assertion: string): { readonly iss: unknown; readonly use: TrustedIssuer['use'] } {
  if (assertion.length > MAX_LENGTH) throw invalidAssertion('it is too long');
  try {
    const type = typeOf(decodeProtectedHeader(assertion));
    if (type !== ID_JAG_TYPE && !WORKLOAD_TYPES.has(type)) throw invalidAssertion('its typ is another');
    return { iss: decodeJwt(assertion).iss, use: type === ID_JAG_TYPE ? 'id-jag' : 'workload' };
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    throw invalidAssertion('it is not a signed JWT');
  }
}
