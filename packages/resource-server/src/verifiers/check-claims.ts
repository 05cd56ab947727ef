/** Judging the claims of a token, also of issuers that do not write them as RFC 9068 does. */
import { type AccessTokenClaims, checkAccessToken } from '@portcullis/protocol/protected-resource';
import type { VerifiedClaims } from '../principal.ts';
import type { TokenExpectation } from './token-verifier.ts';

/**
 * Takes tokens that do not name this resource, but one of these audiences; `null` stands for none at all.
 * Dangerous: whoever holds such a token for another server of the issuer can use it here, and that server can too.
 */
export const dangerouslyAcceptAudiences: unique symbol = Symbol('dangerouslyTakeAudiences');

/**
 * Takes tokens of these header types, such as `JWT`, beside access tokens; `\'\'` stands for none at all.
 * Dangerous: an issuer that gives its access tokens no type of their own may have ID tokens taken for them.
 */
export const dangerouslyAcceptTypes: unique symbol = Symbol('dangerouslyTakeTypes');

type Claims = Readonly<Record<string, unknown>>;

/** What foreign issuers may need. */
export interface TokenCompatibilityOptions {
  /** Whether tokens may name other audiences beside this resource. They can be used there too, and there against you. */
  readonly allowMultipleAudiences?: boolean;
  /**
   * Writes claims by the names of RFC 9068, such as `client_id` from `azp` or `scope` from `scp`. It has no say about
   * issuer, audience, times and bound keys.
   */
  readonly mapClaims?: (claims: Claims) => Claims;
  readonly [dangerouslyAcceptAudiences]?: readonly (string | null)[];
}

/** Claims that no translation touches. */
const PROTECTED_CLAIMS = ['iss', 'aud', 'exp', 'nbf', 'iat', 'cnf'];

/**
 * Judges claims.
 * @throws OAuthError `invalid_token`
 */
export function checkClaims(
  given: Claims,
  issuers: readonly string[],
  expectation: TokenExpectation,
  compatibility: TokenCompatibilityOptions,
): { readonly claims: VerifiedClaims; readonly checked: AccessTokenClaims } {
  const claims =
    compatibility.mapClaims === undefined ? given : withMappedClaims(given, compatibility.mapClaims(given));
  const isTaken = isAcceptedAudience(claims['aud'], expectation.resource, compatibility);
  const judged = isTaken ? { ...claims, aud: expectation.resource } : claims;
  // What is checked are members of the claims themselves.
  const checked = checkAccessToken(judged, { issuers, ...expectation });
  return { claims: claims as VerifiedClaims, checked };
}

function withMappedClaims(given: Claims, written: Claims): Claims {
  const untouched = PROTECTED_CLAIMS.map((name) => [name, given[name]] as const);
  const all = { ...given, ...written, ...Object.fromEntries(untouched) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Whether an audience counts as this resource only because the configuration says so. */
function isAcceptedAudience(
  audience: unknown,
  resource: string,
  compatibility: TokenCompatibilityOptions,
): boolean {
  const named: readonly unknown[] = Array.isArray(audience) ? audience : [audience ?? null];
  if (compatibility.allowMultipleAudiences === true && named.includes(resource)) return true;
  const taken = compatibility[dangerouslyAcceptAudiences];
  return taken !== undefined && named.some((name) => (taken as readonly unknown[]).includes(name));
}
