/** The claims of a JWT access token: built by the authorization server, judged by the protected resource. */
import { OAuthError } from './errors.ts';
import { formatScopes, type Scopes, salvageScopes } from './scopes.ts';

/** The header type of a JWT access token. @see RFC 9068 §2.1 */
export const ACCESS_TOKEN_TYPE = 'at+jwt';

/** Claims by the names of the wire; times in epoch seconds. @see RFC 9068 §2.2 */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string | readonly string[];
  readonly client_id: string;
  readonly exp: number;
  readonly iat: number;
  readonly jti: string;
  readonly nbf?: number;
  readonly scope?: string;
  /** The grant that the token rests on; absent when a client acts for itself. */
  readonly grant_id?: string;
}

/** What a token is made from; times in epoch seconds, lifetime in seconds. */
export interface AccessTokenFacts {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly resource: string;
  readonly scopes: Scopes;
  readonly tokenId: string;
  readonly grantId: string | null;
  readonly issuedAt: number;
  readonly lifetime: number;
}

/** Builds the claims. @see RFC 9068 §2.2 */
export function accessTokenClaims(facts: AccessTokenFacts): AccessTokenClaims {
  return {
    iss: facts.issuer,
    sub: facts.subject,
    aud: facts.resource,
    client_id: facts.clientId,
    exp: facts.issuedAt + facts.lifetime,
    iat: facts.issuedAt,
    jti: facts.tokenId,
    ...(facts.scopes.length > 0 && { scope: formatScopes(facts.scopes) }),
    ...(facts.grantId !== null && { grant_id: facts.grantId }),
  };
}

/** What a protected resource expects of a token whose signature it has verified. */
export interface ExpectedToken {
  /** Trusted issuers, byte for byte. */
  readonly issuers: readonly string[];
  /** The canonical URI of this resource, byte for byte. */
  readonly resource: string;
  /** Epoch seconds. */
  readonly now: number;
  /** Seconds by which clocks may differ. */
  readonly skew: number;
}

/**
 * Judges the claims of a token whose signature is verified: issuer, audience, times, and the members that must be there.
 * The audience MUST name this resource, and no other beside it.
 * @throws OAuthError `invalid_token`, the fault only in its private reason.
 * @see RFC 9068 §4, seed 5.2(3)
 */
export function checkAccessToken(
  claims: Readonly<Record<string, unknown>>,
  expected: ExpectedToken,
): AccessTokenClaims {
  const { iss, sub, aud, client_id: clientId, exp, iat, jti, nbf, scope, grant_id: grantId } = claims;
  if (typeof iss !== 'string' || !expected.issuers.includes(iss)) throw invalid('issuer is not trusted');
  if (!isFor(aud, expected.resource)) throw invalid('audience is not this resource');
  if (!isTime(exp)) throw invalid('exp is missing');
  if (exp + expected.skew <= expected.now)
    throw invalid('token has expired', 'The access token has expired.');
  if (nbf !== undefined && (!isTime(nbf) || nbf - expected.skew > expected.now))
    throw invalid('token is not valid yet');
  if (!isTime(iat) || iat - expected.skew > expected.now) throw invalid('iat is missing or in the future');
  if (typeof sub !== 'string' || sub === '') throw invalid('sub is missing');
  if (typeof clientId !== 'string' || clientId === '') throw invalid('client_id is missing');
  if (typeof jti !== 'string' || jti === '') throw invalid('jti is missing');
  if (scope !== undefined && typeof scope !== 'string') throw invalid('scope is not a string');
  return {
    iss,
    sub,
    aud: aud as string | readonly string[],
    client_id: clientId,
    exp,
    iat,
    jti,
    ...(isTime(nbf) && { nbf }),
    ...(scope !== undefined && { scope }),
    ...(typeof grantId === 'string' && { grant_id: grantId }),
  };
}

/** The scopes that a token carries. */
export function scopesOf(claims: AccessTokenClaims): Scopes {
  return claims.scope === undefined ? [] : salvageScopes(claims.scope);
}

function isFor(audience: unknown, resource: string): boolean {
  if (Array.isArray(audience)) return audience.length === 1 && audience[0] === resource;
  return audience === resource;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function invalid(reason: string, description = 'The access token is not valid here.'): OAuthError {
  return new OAuthError('invalid_token', description, { reason });
}
