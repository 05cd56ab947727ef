/** The principal: proof that an access token was judged and found good for a protected resource. */
import type { AccessTokenClaims, Scopes } from '@portcullis/protocol';
import { scopesOf } from '@portcullis/protocol/access-token';

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

/** Makes a principal from verified claims. It is shared by requests, so it is frozen to its depth. */
export function createPrincipal(claims: VerifiedClaims, resource: string): Principal {
  return Object.freeze<Principal>({
    issuer: claims.iss,
    subject: claims.sub,
    clientId: claims.client_id,
    scopes: Object.freeze(scopesOf(claims)),
    resource,
    grantId: claims.grant_id ?? null,
    expiresAt: claims.exp,
    claims: freezeDeep(claims),
  });
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) freezeDeep(member);
  return value;
}
