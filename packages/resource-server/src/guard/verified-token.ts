/** From the Authorization header to a token that was found good, remembered within bounds. */
import {
  impliedScopes,
  OAuthError,
  type Scopes,
  scopesOf,
  temporarilyUnavailable,
} from '@portcullis/protocol/protected-resource';
import { createLruCache } from '../lru-cache.ts';
import { createPrincipal, type Principal, sourceOf, type VerifiedClaims } from '../principal.ts';
import type { GuardSettings, ProtectedResource } from '../settings.ts';
import type { VerificationResult } from '../verifiers/token-verifier.ts';
import { type AuthorizationField, readRequestToken } from './request-token.ts';
import { bindingError, checkTokenBinding, type TokenBinding } from './token-binding.ts';

/** The request may pass. */
export interface Authorized {
  readonly authorized: true;
  readonly principal: Principal;
  /** For the application's response. */
  readonly headers: Readonly<Record<string, string>>;
}

export const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** A token that was found good, and what follows from it for every request that presents it. */
export class VerifiedToken {
  readonly resource: ProtectedResource;
  /** The token itself: for its own authorization server, to be exchanged, and for nobody else. */
  readonly accessToken: string;
  readonly claims: VerifiedClaims;
  readonly principal: Principal;
  /** Scopes granted and implied. */
  readonly effectiveScopes: ReadonlySet<string>;
  /** Epoch seconds; afterwards the token is judged again. */
  readonly freshUntil: number;
  /** What must be shown beside the token, when it is bound to a key or a certificate of the client. */
  readonly binding: TokenBinding | null;
  /** Ready for the usual request: one that no page made, with a plain token. */
  readonly decision: Authorized;

  constructor(
    { claims, freshUntil }: VerificationResult,
    resource: ProtectedResource,
    scopes: TokenScopes,
    { accessToken, binding }: { readonly accessToken: string; readonly binding: TokenBinding | null },
  ) {
    this.resource = resource;
    this.accessToken = accessToken;
    this.claims = claims;
    this.effectiveScopes = scopes.effective;
    this.binding = binding;
    this.principal = createPrincipal(claims, scopes.granted, resource.resource, this);
    this.freshUntil = Math.min(freshUntil, claims.exp);
    this.decision = { authorized: true, principal: this.principal, headers: NO_HEADERS };
  }
}

/** Scopes as granted, and with all that they imply. */
interface TokenScopes {
  readonly granted: Scopes;
  readonly effective: ReadonlySet<string>;
}

export interface TokenAuthenticator {
  /**
   * Finds out what stands behind an Authorization header; `null` when it presents no token.
   * @throws OAuthError `invalid_request`, `invalid_token` or `temporarily_unavailable`.
   */
  authenticate(
    resource: ProtectedResource,
    authorization: AuthorizationField,
  ): VerifiedToken | null | Promise<VerifiedToken>;
  /**
   * Judges a token again that was found good before: epoch seconds until which that is fresh, `null` when it is good no
   * more. Where it cannot be found out, nothing has changed.
   */
  reverify(verifiedToken: VerifiedToken, freshUntil: number): Promise<number | null>;
}

/** What stands behind a principal; `undefined` when no guard has made it. */
export function verifiedTokenOf(principal: Principal): VerifiedToken | undefined {
  const source = sourceOf(principal);
  return source instanceof VerifiedToken ? source : undefined;
}

/** On average no longer than this, so that many long tokens take no more room than many short ones. */
const CACHED_CHARACTERS_PER_TOKEN = 1024;

/** A field that is longer is not looked up, only refused. */
const MAX_HEADER_LENGTH = 16_500;

/** Remembers by the whole field, so that a token seen before costs one look-up and no parsing. */
export function createTokenAuthenticator(settings: GuardSettings): TokenAuthenticator {
  const { clock, clockTolerance, tokenCacheSize, dpop, certificates } = settings;
  const cache = createLruCache<VerifiedToken>({
    entries: tokenCacheSize,
    characters: tokenCacheSize * CACHED_CHARACTERS_PER_TOKEN,
  });

  const readScopes = createScopeReader();

  function authenticate(
    resource: ProtectedResource,
    authorization: AuthorizationField,
  ): ReturnType<TokenAuthenticator['authenticate']> {
    const field =
      typeof authorization === 'string' && authorization.length <= MAX_HEADER_LENGTH ? authorization : null;
    const now = clock();
    const known = field === null ? undefined : cache.get(field);
    if (known !== undefined && known.resource === resource && now < known.freshUntil) return known;
    const presented = readRequestToken(authorization);
    if (presented === null || (presented.scheme === 'DPoP' && dpop === null)) return null;
    if (presented.scheme === 'Bearer' && dpop?.required === true)
      throw bindingError('plain tokens are not taken');
    const keep = (found: VerificationResult): VerifiedToken => {
      const scopes = readScopes(found.claims, resource);
      const binding = checkTokenBinding(found.claims, presented.scheme, certificates !== null);
      const verifiedToken = new VerifiedToken(found, resource, scopes, {
        accessToken: presented.token,
        binding,
      });
      if (field !== null && tokenCacheSize > 0 && verifiedToken.freshUntil > now)
        cache.set(field, verifiedToken);
      return verifiedToken;
    };
    const verified = verify(resource, presented.token, now);
    return verified instanceof Promise ? verified.then(keep) : keep(verified);
  }

  return { authenticate, reverify };

  async function reverify(
    { resource, accessToken: token, claims }: VerifiedToken,
    freshUntil: number,
  ): Promise<number | null> {
    const now = clock();
    try {
      if (resource.verifier.isLive !== undefined) await checkNotRevoked(resource, claims);
      return now < freshUntil ? freshUntil : (await verify(resource, token, now)).freshUntil;
    } catch (error) {
      return error instanceof OAuthError && error.code === 'temporarily_unavailable' ? freshUntil : null;
    }
  }

  function verify(
    resource: ProtectedResource,
    token: string,
    now: number,
  ): VerificationResult | Promise<VerificationResult> {
    try {
      const expectation = { resource: resource.resource, now, clockTolerance, provesPossession: true };
      const verified = resource.verifier.verify(token, expectation);
      return verified instanceof Promise ? verified.catch(rethrowUnavailable) : verified;
    } catch (error) {
      return rethrowUnavailable(error);
    }
  }
}

/** Asks whether a token found good before still stands. @throws OAuthError `invalid_token` when it does not. */
export async function checkNotRevoked(resource: ProtectedResource, claims: VerifiedClaims): Promise<void> {
  let live: boolean | undefined;
  try {
    live = await resource.verifier.isLive?.(claims);
  } catch (error) {
    rethrowUnavailable(error);
  }
  if (live !== true) {
    throw new OAuthError('invalid_token', 'The access token is no longer valid.', {
      reason: 'token was revoked',
    });
  }
}

/** Reads the scopes of tokens. Most tokens of a resource carry the same few combinations, which are kept as read. */
function createScopeReader(): (claims: VerifiedClaims, resource: ProtectedResource) => TokenScopes {
  const known = createLruCache<TokenScopes & { readonly resource: ProtectedResource }>({
    entries: 1000,
    characters: 100_000,
  });
  return (claims, resource) => {
    const text = claims.scope ?? '';
    const found = known.get(text);
    if (found?.resource === resource) return found;
    const granted = Object.freeze(scopesOf(claims));
    const scopes = { granted, effective: impliedScopes(granted, resource.hierarchy), resource };
    known.set(text, scopes);
    return scopes;
  };
}

/** Whoever could not judge a token says so: never as an invalid token, and never as a valid one. */
function rethrowUnavailable(error: unknown): never {
  if (error instanceof OAuthError) throw error;
  throw temporarilyUnavailable('the verifier failed', 5, error);
}
