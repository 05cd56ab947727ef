/** Judging the claims of a token, also of issuers that do not write them as RFC 9068 does. */
import { type AccessTokenClaims, checkAccessToken } from '@portcullis/protocol/protected-resource';
import type { VerifiedClaims } from '../principal.ts';
import type { TokenExpectation } from '../verifier.ts';

/**
 * Takes tokens that do not name this resource, but one of these audiences; `null` stands for none at all.
 * Dangerous: whoever holds such a token for another server of the issuer can use it here, and that server can too.
 */
export const dangerouslyTakeAudiences: unique symbol = Symbol('dangerouslyTakeAudiences');

/**
 * Takes tokens of these header types, such as `JWT`, beside access tokens; `\'\'` stands for none at all.
 * Dangerous: an issuer that gives its access tokens no type of their own may have ID tokens taken for them.
 */
export const dangerouslyTakeTypes: unique symbol = Symbol('dangerouslyTakeTypes');

type Claims = Readonly<Record<string, unknown>>;

/** What foreign issuers may need. */
export interface ForeignTokens {
  /** Whether tokens may name other audiences beside this resource. They can be used there too, and there against you. */
  readonly severalAudiences?: boolean;
  /**
   * Writes claims by the names of RFC 9068, such as `client_id` from `azp` or `scope` from `scp`. It has no say about
   * issuer, audience, times and bound keys.
   */
  readonly translate?: (claims: Claims) => Claims;
  readonly [dangerouslyTakeAudiences]?: readonly (string | null)[];
}

/** Claims that no translation touches. */
const UNTOUCHED = ['iss', 'aud', 'exp', 'nbf', 'iat', 'cnf'];

/**
 * Judges claims.
 * @throws OAuthError `invalid_token`
 */
export function judgeClaims(
  given: Claims,
  issuers: readonly string[],
  expectation: TokenExpectation,
  foreign: ForeignTokens,
): { readonly claims: VerifiedClaims; readonly checked: AccessTokenClaims } {
  const claims = foreign.translate === undefined ? given : translated(given, foreign.translate(given));
  const isTaken = isTakenAudience(claims['aud'], expectation.resource, foreign);
  const judged = isTaken ? { ...claims, aud: expectation.resource } : claims;
  // What is checked are members of the claims themselves.
  const checked = checkAccessToken(judged, { issuers, ...expectation });
  return { claims: claims as VerifiedClaims, checked };
}

function translated(given: Claims, written: Claims): Claims {
  const untouched = UNTOUCHED.map((name) => [name, given[name]] as const);
  const all = { ...given, ...written, ...Object.fromEntries(untouched) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Whether an audience counts as this resource only because the configuration says so. */
function isTakenAudience(audience: unknown, resource: string, foreign: ForeignTokens): boolean {
  const named: readonly unknown[] = Array.isArray(audience) ? audience : [audience ?? null];
  if (foreign.severalAudiences === true && named.includes(resource)) return true;
  const taken = foreign[dangerouslyTakeAudiences];
  return taken !== undefined && named.some((name) => (taken as readonly unknown[]).includes(name));
}
