/** The principal: proof that an access token was judged and found good for a protected resource. */
import type { AccessTokenClaims, Scopes } from '@portcullis/protocol/protected-resource';

/**
 * On whose behalf a request is made. It exists only once the token was verified, and nothing in it can be changed.
 * The token itself cannot be read from it: what an application needs upstream is a token of its own.
 * @see seed 5.2(6)
 */
export interface Principal {
  /** The authorization server that vouches for it. */
  readonly issuer: string;
  /** Who: a person, or the client itself. Unique together with the issuer. */
  readonly subject: string;
  /** Through which client. */
  readonly clientId: string;
  /** As granted; what a scope implies is not written out. */
  readonly scopes: Scopes;
  /** The canonical URI of the resource that the token is for. */
  readonly resource: string;
  /** The grant that the token rests on; `null` when the authorization server names none. */
  readonly grantId: string | null;
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** All claims of the token, by the names of the wire. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What a verifier vouches for: the claims that every access token has, and whatever else it carries. */
export type VerifiedClaims = AccessTokenClaims & Readonly<Record<string, unknown>>;

/** A principal that a guard has made. What stands behind it is kept where no application can reach or copy it. */
class GuardPrincipal implements Principal {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly scopes: Scopes;
  readonly resource: string;
  readonly grantId: string | null;
  readonly expiresAt: number;
  readonly claims: VerifiedClaims;
  readonly #grounds: object;

  constructor(claims: VerifiedClaims, scopes: Scopes, resource: string, source: object) {
    this.issuer = claims.iss;
    this.subject = claims.sub;
    this.clientId = claims.client_id;
    this.scopes = scopes;
    this.resource = resource;
    this.grantId = typeof claims.grant_id === 'string' ? claims.grant_id : null;
    this.expiresAt = claims.exp;
    this.claims = freezeDeep(claims);
    this.#grounds = source;
    // It is shared by all requests with its token.
    Object.freeze(this);
  }

  static isInstance(value: unknown): value is GuardPrincipal {
    return typeof value === 'object' && value !== null && #grounds in value;
  }

  static sourceOf(principal: Principal): object | undefined {
    return GuardPrincipal.isInstance(principal) ? principal.#grounds : undefined;
  }
}

/**
 * Makes a principal from verified claims.
 * @param scopes those of the claims, frozen
 * @param source what its maker wants to find again
 */
export function createPrincipal(
  claims: VerifiedClaims,
  scopes: Scopes,
  resource: string,
  source: object,
): Principal {
  return new GuardPrincipal(claims, scopes, resource, source);
}

/** What the maker of a principal has laid behind it; `undefined` for one that was made elsewhere. */
export function sourceOf(principal: Principal): object | undefined {
  return GuardPrincipal.sourceOf(principal);
}

/** Whether a guard has made it. */
export function isPrincipal(value: unknown): value is Principal {
  return GuardPrincipal.isInstance(value);
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const name in value) if (typeof value[name] === 'object') freezeDeep(value[name]);
  return value;
}
