/** Checks the claims of a token, audience included, also for issuers that do not follow RFC 9068. */
import { type AccessTokenClaims, checkAccessToken } from '@portcullis/protocol';
import type { VerifiedClaims } from '../principal.ts';
import type { TokenExpectation } from './token-verifier.ts';

/**
 * Accepts tokens with one of these audiences instead of this resource; `null` stands for a missing audience.
 * Dangerous: a token for another server of the issuer can be used here, also by that server (confused deputy).
 */
export const dangerouslyAcceptAudiences: unique symbol = Symbol('dangerouslyAcceptAudiences');

/**
 * Accepts tokens with these `typ` headers, such as `JWT`, besides access tokens; `\'\'` stands for a missing one.
 * Dangerous: if an issuer does not mark its access tokens, ID tokens may be accepted as such.
 */
export const dangerouslyAcceptTypes: unique symbol = Symbol('dangerouslyAcceptTypes');

type Claims = Readonly<Record<string, unknown>>;

/** Compatibility with issuers that do not follow RFC 9068. */
export interface TokenCompatibilityOptions {
  /**
   * Whether tokens may have further audiences besides this resource. Such a token can be used at all of them, and by
   * each of them here.
   */
  readonly allowMultipleAudiences?: boolean;
  /**
   * Maps claims to the names of RFC 9068, such as `client_id` from `azp` or `scope` from `scp`. It cannot change
   * issuer, audience, times and bound keys.
   */
  readonly mapClaims?: (claims: Claims) => Claims;
  readonly [dangerouslyAcceptAudiences]?: readonly (string | null)[];
}

/** Claims that `mapClaims` cannot change. */
const PROTECTED_CLAIMS = ['iss', 'aud', 'exp', 'nbf', 'iat', 'cnf'];

/**
 * Checks claims.
 * @throws OAuthError `invalid_token`
 * @see RFC 9068 §4
 */
export function checkClaims(
  given: Claims,
  issuers: readonly string[],
  expectation: TokenExpectation,
  compatibility: TokenCompatibilityOptions,
): { readonly claims: VerifiedClaims; readonly checked: AccessTokenClaims } {
  const claims =
    compatibility.mapClaims === undefined ? given : withMappedClaims(given, compatibility.mapClaims(given));
  const isAccepted = isAcceptedAudience(claims['aud'], expectation.resource, compatibility);
  const normalized = isAccepted ? { ...claims, aud: expectation.resource } : claims;
  // The checked values are those of the claims themselves.
  const checked = checkAccessToken(normalized, { issuers, ...expectation });
  return { claims: claims as VerifiedClaims, checked };
}

function withMappedClaims(given: Claims, written: Claims): Claims {
  const untouched = PROTECTED_CLAIMS.map((name) => [name, given[name]] as const);
  const all = { ...given, ...written, ...Object.fromEntries(untouched) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Whether an audience is accepted only because of the options. */
function isAcceptedAudience(
  audience: unknown,
  resource: string,
  compatibility: TokenCompatibilityOptions,
): boolean {
  const named: readonly unknown[] = Array.isArray(audience) ? audience : [audience ?? null];
  if (compatibility.allowMultipleAudiences === true && named.includes(resource)) return true;
  const accepted = compatibility[dangerouslyAcceptAudiences];
  return accepted !== undefined && named.some((name) => (accepted as readonly unknown[]).includes(name));
}
