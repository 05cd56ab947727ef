/** The principal: proof that an access token was verified for a protected resource. */
import type { AccessTokenClaims, Scopes } from '@portcullis/protocol';

/**
 * On whose behalf a request is made. It is created only from a verified token, and immutable. It does not reveal the
 * token: to act upstream, an application needs a token of its own.
 * @see RFC 9068 §2.2, RFC 9700 §4.10, seed 5.2(6)
 */
export interface Principal {
  /** The authorization server that issued the token. */
  readonly issuer: string;
  /** The user, or the client itself. Unique only together with the issuer. */
  readonly subject: string;
  /** The client that acts for the user. */
  readonly clientId: string;
  /** The granted scopes, without those that they imply. */
  readonly scopes: Scopes;
  /** The canonical URI of the resource, the audience of the token. */
  readonly resource: string;
  /** The grant that the token was issued from; `null` if the token names none. */
  readonly grantId: string | null;
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** The user's email address; `null` if the token has none, because the resource does not ask for it. */
  readonly email: string | null;
  /** The user's name; `null` if the token has none. */
  readonly name: string | null;
  /** The user's groups; empty if the token has none. */
  readonly groups: readonly string[];
  /** All claims of the token, by their names in the token. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Verified claims: those that every access token has, and any others. */
export type VerifiedClaims = AccessTokenClaims & Readonly<Record<string, unknown>>;

/** A principal created by a guard. Its source is private, so that applications can neither read nor copy it. */
class GuardPrincipal {
  readonly #source: object;

  constructor(source: object) {
    this.#source = source;
  }

  static sourceOf(value: unknown): object | undefined {
    return typeof value === 'object' && value !== null && #source in value ? value.#source : undefined;
  }
}

/**
 * Creates a principal from verified claims.
 * @param scopes those of the claims, frozen
 * @param source what the guard wants to look up later
 */
export function createPrincipal(
  claims: VerifiedClaims,
  scopes: Scopes,
  resource: string,
  source: object,
): Principal {
  const members: Principal = {
    issuer: claims.iss,
    subject: claims.sub,
    clientId: claims.client_id,
    scopes,
    resource,
    grantId: typeof claims.grant_id === 'string' ? claims.grant_id : null,
    expiresAt: claims.exp,
    email: textOrNull(claims.email),
    name: textOrNull(claims.name),
    groups: groupsOf(claims.groups),
    claims: freezeDeep(claims),
  };
  // Shared by all requests with the same token.
  return Object.freeze(Object.assign(new GuardPrincipal(source), members));
}

const ANONYMOUS = Object.freeze({});

/** Creates the principal of requests without a token to a resource with public operations: no subject, client or scope. */
export function createAnonymousPrincipal(resource: string): Principal {
  const claims = { iss: '', sub: '', client_id: '', aud: resource, exp: Infinity, iat: 0, jti: '' };
  return createPrincipal(claims, Object.freeze([]), resource, ANONYMOUS);
}

/** Whether a request was authorized without a token, for a public operation. */
export function isAnonymous(principal: Principal): boolean {
  return sourceOf(principal) === ANONYMOUS;
}

/** Returns the source of a principal; `undefined` if it was not created by a guard. */
export function sourceOf(principal: Principal): object | undefined {
  return GuardPrincipal.sourceOf(principal);
}

/** Whether a value is a principal created by a guard. */
export function isPrincipal(value: unknown): value is Principal {
  return GuardPrincipal.sourceOf(value) !== undefined;
}

/** Other issuers may write other types. */
function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

const NO_GROUPS: readonly string[] = Object.freeze([]);

function groupsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return NO_GROUPS;
  return Object.freeze(value.filter((group): group is string => typeof group === 'string'));
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const name in value) if (typeof value[name] === 'object') freezeDeep(value[name]);
  return value;
}
