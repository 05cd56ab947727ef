/** From the Authorization header to a token that was found good, remembered within bounds. */
import {
  impliedScopes,
  OAuthError,
  type Scopes,
  scopesOf,
  temporarilyUnavailable,
} from '@portcullis/protocol/protected-resource';
import { type Binding, bindingOf, unbound } from './binding.ts';
import type { Configuration, ProtectedResource } from './configuration.ts';
import { createMemory } from './memory.ts';
import { type Authorization, readPresentedToken } from './presented-token.ts';
import { createPrincipal, groundsOf, type Principal, type VerifiedClaims } from './principal.ts';
import type { VerifiedToken } from './verifier.ts';

/** The request may pass. */
export interface Admitted {
  readonly admitted: true;
  readonly principal: Principal;
  /** For the application's response. */
  readonly headers: Readonly<Record<string, string>>;
}

export const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** A token that was found good, and what follows from it for every request that presents it. */
export class Standing {
  readonly resource: ProtectedResource;
  /** The token itself: for its own authorization server, to be exchanged, and for nobody else. */
  readonly token: string;
  readonly claims: VerifiedClaims;
  readonly principal: Principal;
  /** Scopes granted and implied. */
  readonly held: ReadonlySet<string>;
  /** Epoch seconds; afterwards the token is judged again. */
  readonly freshUntil: number;
  /** What must be shown beside the token, when it is bound to a key or a certificate of the client. */
  readonly binding: Binding | null;
  /** Ready for the usual request: one that no page made, with a plain token. */
  readonly admission: Admitted;

  constructor(
    { claims, freshUntil }: VerifiedToken,
    resource: ProtectedResource,
    scopes: HeldScopes,
    { token, binding }: { readonly token: string; readonly binding: Binding | null },
  ) {
    this.resource = resource;
    this.token = token;
    this.claims = claims;
    this.held = scopes.held;
    this.binding = binding;
    this.principal = createPrincipal(claims, scopes.granted, resource.resource, this);
    this.freshUntil = Math.min(freshUntil, claims.exp);
    this.admission = { admitted: true, principal: this.principal, headers: NO_HEADERS };
  }
}

/** Scopes as granted, and with all that they imply. */
interface HeldScopes {
  readonly granted: Scopes;
  readonly held: ReadonlySet<string>;
}

export interface Standings {
  /**
   * Finds out what stands behind an Authorization header; `null` when it presents no token.
   * @throws OAuthError `invalid_request`, `invalid_token` or `temporarily_unavailable`.
   */
  resolve(resource: ProtectedResource, authorization: Authorization): Standing | null | Promise<Standing>;
  /**
   * Judges a token again that was found good before: epoch seconds until which that is fresh, `null` when it is good no
   * more. Where it cannot be found out, nothing has changed.
   */
  judgeAgain(standing: Standing, freshUntil: number): Promise<number | null>;
}

/** What stands behind a principal; `undefined` when no guard has made it. */
export function standingOf(principal: Principal): Standing | undefined {
  const grounds = groundsOf(principal);
  return grounds instanceof Standing ? grounds : undefined;
}

/** On average no longer than this, so that many long tokens take no more room than many short ones. */
const REMEMBERED_CHARACTERS = 1024;

/** A field that is longer is not looked up, only refused. */
const LONGEST_FIELD = 16_500;

/** Remembers by the whole field, so that a token seen before costs one look-up and no parsing. */
export function createStandings(configuration: Configuration): Standings {
  const { clock, clockTolerance, tokenCacheSize, dpop, certificates } = configuration;
  const memory = createMemory<Standing>({
    entries: tokenCacheSize,
    characters: tokenCacheSize * REMEMBERED_CHARACTERS,
  });

  const readScopes = createScopeReader();

  function resolve(
    resource: ProtectedResource,
    authorization: Authorization,
  ): ReturnType<Standings['resolve']> {
    const field =
      typeof authorization === 'string' && authorization.length <= LONGEST_FIELD ? authorization : null;
    const now = clock();
    const known = field === null ? undefined : memory.find(field);
    if (known !== undefined && known.resource === resource && now < known.freshUntil) return known;
    const presented = readPresentedToken(authorization);
    if (presented === null || (presented.scheme === 'DPoP' && dpop === null)) return null;
    if (presented.scheme === 'Bearer' && dpop?.required === true) throw unbound('plain tokens are not taken');
    const keep = (found: VerifiedToken): Standing => {
      const scopes = readScopes(found.claims, resource);
      const binding = bindingOf(found.claims, presented.scheme, certificates !== null);
      const standing = new Standing(found, resource, scopes, { token: presented.token, binding });
      if (field !== null && tokenCacheSize > 0 && standing.freshUntil > now) memory.keep(field, standing);
      return standing;
    };
    const verified = verify(resource, presented.token, now);
    return verified instanceof Promise ? verified.then(keep) : keep(verified);
  }

  return { resolve, judgeAgain };

  async function judgeAgain(
    { resource, token, claims }: Standing,
    freshUntil: number,
  ): Promise<number | null> {
    const now = clock();
    try {
      if (resource.verifier.isLive !== undefined) await checkLive(resource, claims);
      return now < freshUntil ? freshUntil : (await verify(resource, token, now)).freshUntil;
    } catch (error) {
      return error instanceof OAuthError && error.code === 'temporarily_unavailable' ? freshUntil : null;
    }
  }

  function verify(
    resource: ProtectedResource,
    token: string,
    now: number,
  ): VerifiedToken | Promise<VerifiedToken> {
    try {
      const expectation = { resource: resource.resource, now, clockTolerance, provesPossession: true };
      const verified = resource.verifier.verify(token, expectation);
      return verified instanceof Promise ? verified.catch(refuseUnjudged) : verified;
    } catch (error) {
      return refuseUnjudged(error);
    }
  }
}

/** Asks whether a token found good before still stands. @throws OAuthError `invalid_token` when it does not. */
export async function checkLive(resource: ProtectedResource, claims: VerifiedClaims): Promise<void> {
  let live: boolean | undefined;
  try {
    live = await resource.verifier.isLive?.(claims);
  } catch (error) {
    refuseUnjudged(error);
  }
  if (live !== true) {
    throw new OAuthError('invalid_token', 'The access token is no longer valid.', {
      reason: 'token was revoked',
    });
  }
}

/** Reads the scopes of tokens. Most tokens of a resource carry the same few combinations, which are kept as read. */
function createScopeReader(): (claims: VerifiedClaims, resource: ProtectedResource) => HeldScopes {
  const known = createMemory<HeldScopes & { readonly resource: ProtectedResource }>({
    entries: 1000,
    characters: 100_000,
  });
  return (claims, resource) => {
    const text = claims.scope ?? '';
    const found = known.find(text);
    if (found?.resource === resource) return found;
    const granted = Object.freeze(scopesOf(claims));
    const scopes = { granted, held: impliedScopes(granted, resource.hierarchy), resource };
    known.keep(text, scopes);
    return scopes;
  };
}

/** Whoever could not judge a token says so: never as an invalid token, and never as a valid one. */
function refuseUnjudged(error: unknown): never {
  if (error instanceof OAuthError) throw error;
  throw temporarilyUnavailable('the verifier failed', 5, error);
}
