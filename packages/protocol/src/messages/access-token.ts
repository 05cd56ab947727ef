/** JWT access tokens (RFC 9068): builds the claims, and checks issuer, audience and times of received ones. */
import { acrOf, type UserAuthentication } from '../authentication.ts';
import { tokenRejected } from '../errors.ts';
import { formatScopes, readLenientScopes, type Scopes } from '../scopes.ts';

/** The header type of a JWT access token. @see RFC 9068 §2.1 */
export const ACCESS_TOKEN_TYPE = 'at+jwt';

/**
 * Whether a `typ` header is that of an access token; the prefix `application/` and case do not matter. @see RFC 9068
 * §4
 */
export function isAccessTokenType(type: unknown): boolean {
  return typeof type === 'string' && /^(?:application\/)?at\+jwt$/i.test(type);
}

/** A claim about the user. @see OpenID Connect Core 1.0 §5.1, RFC 9068 §2.2.3.1 */
export type UserClaim = 'email' | 'name' | 'groups';

/** The claims that servers may learn about users. */
export const USER_CLAIMS: readonly UserClaim[] = ['email', 'name', 'groups'];

/** The claims, by their names in the RFC; times in epoch seconds. @see RFC 9068 §2.2 */
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
  /** The grant that the token was issued from; absent if the client acts on its own behalf. */
  readonly grant_id?: string;
  /** The workspace that the grant is bound to, if any. */
  readonly workspace?: string;
  /** The user's email address, if the resource asks for it. */
  readonly email?: string;
  /** The user's name, if the resource asks for it. */
  readonly name?: string;
  /** The user's groups, if the resource asks for them. @see RFC 9068 §2.2.3.1 */
  readonly groups?: readonly string[];
  /** When the user signed in. @see RFC 9470 §6 */
  readonly auth_time?: number;
  /** The authentication context class of the sign-in. */
  readonly acr?: string;
  /** The methods of the sign-in. @see RFC 8176 */
  readonly amr?: readonly string[];
  /** The DPoP key that the token is bound to, by its thumbprint. @see RFC 9449 §6.1 */
  readonly cnf?: { readonly jkt: string };
  /** Who acts for the subject, and for whom in turn, after token exchange. @see RFC 8693 §4.1 */
  readonly act?: Actor;
}

/** An actor, and the one before it. */
export interface Actor {
  /** The identity provider that names it; absent: it is a client of this server. */
  readonly iss?: string;
  readonly sub: string;
  readonly act?: Actor;
}

/** What a token is made from; times in epoch seconds, lifetime in seconds. */
interface AccessTokenInput {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly resource: string;
  readonly scopes: Scopes;
  readonly tokenId: string;
  readonly grantId: string | null;
  /** None by default. */
  readonly workspace?: string | null;
  /** Claims about the user; none by default. */
  readonly user?: Pick<AccessTokenClaims, 'email' | 'name' | 'groups'>;
  /** How the user signed in; not known by default. */
  readonly authentication?: UserAuthentication | null;
  /** The thumbprint of the DPoP key that the token is bound to; none by default. */
  readonly keyThumbprint?: string | null;
  /** Who acts for the subject; none by default. */
  readonly actor?: Actor | null;
  readonly issuedAt: number;
  readonly lifetime: number;
}

/** Builds the claims of an access token. @see RFC 9068 §2.2 */
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
    ...facts.user,
    ...(facts.actor != null && { act: facts.actor }),
    ...(facts.authentication != null && {
      auth_time: facts.authentication.time,
      acr: acrOf(facts.authentication),
      amr: facts.authentication.methods,
    }),
    ...(facts.keyThumbprint != null && { cnf: { jkt: facts.keyThumbprint } }),
  };
}

/** What a protected resource requires of a token whose signature is verified. */
interface AccessTokenExpectations {
  /** Trusted issuers, byte for byte. */
  readonly issuers: readonly string[];
  /** The canonical URI of this resource, byte for byte. */
  readonly resource: string;
  /** Epoch seconds. */
  readonly now: number;
  /** Seconds by which the clocks of issuer and resource may differ. */
  readonly clockTolerance: number;
  /**
   * Whether the caller verifies possession of the key that the token is bound to (`cnf`). Bound tokens are rejected
   * otherwise. @see RFC 7800 §3, RFC 9449 §7.1
   */
  readonly provesPossession?: boolean;
}

/**
 * Checks the claims of a token whose signature is verified: issuer, audience, times and required claims. The audience
 * MUST be this resource, and nothing else.
 * @throws OAuthError `invalid_token`; what is wrong is in its private reason only
 * @see RFC 9068 §4, seed 5.2(3)
 */
export function checkAccessToken(
  claims: Readonly<Record<string, unknown>>,
  expected: AccessTokenExpectations,
): AccessTokenClaims {
  const { iss, aud, scope, cnf, grant_id: grantId } = claims;
  if (typeof iss !== 'string' || !expected.issuers.includes(iss))
    throw tokenRejected('issuer is not trusted');
  if (!isAudience(aud, expected.resource)) throw tokenRejected('audience is not this resource');
  // Without proof of possession, a stolen bound token must be useless.
  if (cnf !== undefined && expected.provesPossession !== true) {
    throw tokenRejected('token is bound to a key that was not proven');
  }
  if (scope !== undefined && typeof scope !== 'string') throw tokenRejected('scope is not a string');
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
  if (!isTime(exp)) throw tokenRejected('exp is missing');
  if (exp + clockTolerance <= now) throw tokenRejected('token has expired', 'The access token has expired.');
  if (!isTime(iat) || iat - clockTolerance > now) throw tokenRejected('iat is missing or in the future');
  if (nbf === undefined) return { exp, iat };
  if (!isTime(nbf) || nbf - clockTolerance > now) throw tokenRejected('token is not valid yet');
  return { exp, iat, nbf };
}

function requiredText(claims: Readonly<Record<string, unknown>>, name: string): string {
  const value = claims[name];
  if (typeof value !== 'string' || value === '') throw tokenRejected(`${name} is missing`);
  return value;
}

/** Returns the scopes of a token. @see RFC 9068 §2.2.3 */
export function scopesOf(claims: AccessTokenClaims): Scopes {
  return claims.scope === undefined ? [] : readLenientScopes(claims.scope);
}

/** Whether the `aud` claim names this resource alone. @see RFC 9068 §4 */
function isAudience(audience: unknown, resource: string): audience is string | readonly string[] {
  return Array.isArray(audience) ? audience.length === 1 && audience[0] === resource : audience === resource;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
