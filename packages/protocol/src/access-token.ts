/** The claims of a JWT access token: built by the authorization server, judged by the protected resource. */
import { OAuthError } from './errors.ts';
import { formatScopes, readLenientScopes, type Scopes } from './scopes.ts';
import type { StatusReference } from './status-list.ts';

/** The header type of a JWT access token. @see RFC 9068 §2.1 */
export const ACCESS_TOKEN_TYPE = 'at+jwt';

/** Whether a header's `typ` is the one of an access token; `application/` may be written, and case does not matter. @see RFC 9068 §4 */
export function isAccessTokenType(type: unknown): boolean {
  return typeof type === 'string' && /^(?:application\/)?at\+jwt$/i.test(type);
}

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
  /** The workspace that the grant is bound to; absent where there are none. */
  readonly workspace?: string;
  /** Where its status is published; absent when it is not. */
  readonly status?: { readonly status_list: StatusReference };
}

/** What a token is made from; times in epoch seconds, lifetime in seconds. */
export interface AccessTokenInput {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly resource: string;
  readonly scopes: Scopes;
  readonly tokenId: string;
  readonly grantId: string | null;
  /** None when left out. */
  readonly workspace?: string | null;
  /** Where its status is published; nowhere when left out. */
  readonly status?: StatusReference | null;
  readonly issuedAt: number;
  readonly lifetime: number;
}

/** Builds the claims. @see RFC 9068 §2.2 */
export function accessTokenClaims(facts: AccessTokenInput): AccessTokenClaims {
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
    ...(typeof facts.workspace === 'string' && { workspace: facts.workspace }),
    ...(facts.status != null && { status: { status_list: facts.status } }),
  };
}

/** What a protected resource expects of a token whose signature it has verified. */
export interface AccessTokenExpectations {
  /** Trusted issuers, byte for byte. */
  readonly issuers: readonly string[];
  /** The canonical URI of this resource, byte for byte. */
  readonly resource: string;
  /** Epoch seconds. */
  readonly now: number;
  /** Seconds by which clocks may differ. */
  readonly clockTolerance: number;
  /**
   * Whether the caller itself demands proof of the key that a token is bound to (`cnf`). `false` when left out: such a
   * token is refused. @see RFC 7800 §3, RFC 9449 §7.1
   */
  readonly provesPossession?: boolean;
}

/**
 * Judges the claims of a token whose signature is verified: issuer, audience, times, and the members that must be there.
 * The audience MUST name this resource, and no other beside it.
 * @throws OAuthError `invalid_token`, the fault only in its private reason.
 * @see RFC 9068 §4, seed 5.2(3)
 */
export function checkAccessToken(
  claims: Readonly<Record<string, unknown>>,
  expected: AccessTokenExpectations,
): AccessTokenClaims {
  const { iss, aud, scope, cnf, grant_id: grantId } = claims;
  if (typeof iss !== 'string' || !expected.issuers.includes(iss)) throw invalid('issuer is not trusted');
  if (!isAudience(aud, expected.resource)) throw invalid('audience is not this resource');
  // A token that is bound to a key is worth nothing without proof of the key.
  if (cnf !== undefined && expected.provesPossession !== true) {
    throw invalid('token is bound to a key that was not proven');
  }
  if (scope !== undefined && typeof scope !== 'string') throw invalid('scope is not a string');
  return {
    iss,
    aud,
    sub: requiredText(claims, 'sub'),
    client_id: requiredText(claims, 'client_id'),
    jti: requiredText(claims, 'jti'),
    ...checkTimes(claims, expected),
    ...(scope !== undefined && { scope }),
    ...(typeof grantId === 'string' && { grant_id: grantId }),
  };
}

function checkTimes(
  { exp, iat, nbf }: Readonly<Record<string, unknown>>,
  { now, clockTolerance }: AccessTokenExpectations,
): Pick<AccessTokenClaims, 'exp' | 'iat' | 'nbf'> {
  if (!isTime(exp)) throw invalid('exp is missing');
  if (exp + clockTolerance <= now) throw invalid('token has expired', 'The access token has expired.');
  if (!isTime(iat) || iat - clockTolerance > now) throw invalid('iat is missing or in the future');
  if (nbf === undefined) return { exp, iat };
  if (!isTime(nbf) || nbf - clockTolerance > now) throw invalid('token is not valid yet');
  return { exp, iat, nbf };
}

function requiredText(claims: Readonly<Record<string, unknown>>, name: string): string {
  const value = claims[name];
  if (typeof value !== 'string' || value === '') throw invalid(`${name} is missing`);
  return value;
}

/** The scopes that a token carries. */
export function scopesOf(claims: AccessTokenClaims): Scopes {
  return claims.scope === undefined ? [] : readLenientScopes(claims.scope);
}

function isAudience(audience: unknown, resource: string): audience is string | readonly string[] {
  return Array.isArray(audience) ? audience.length === 1 && audience[0] === resource : audience === resource;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function invalid(reason: string, description = 'The access token is not valid here.'): OAuthError {
  return new OAuthError('invalid_token', description, { reason });
}
