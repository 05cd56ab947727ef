/** Authenticates the token of a request, with an LRU cache of verified tokens. */
import {
  createLruCache,
  impliedScopes,
  OAuthError,
  type Scopes,
  SKEW_TOLERANCE,
  scopesOf,
  temporarilyUnavailable,
  tokenRejected,
} from '@portcullis/protocol';
import { createPrincipal, type Principal, sourceOf, type VerifiedClaims } from '../principal.ts';
import type { RequestInfo } from '../request-info.ts';
import type { GuardSettings, ProtectedResource } from '../settings.ts';
import type { TokenExpectation, VerificationResult } from '../verifiers/token-verifier.ts';
import { bindingError, checkTokenBinding, readRequestToken, type TokenBinding } from './request-token.ts';

/** The decision to let a request pass. */
export interface Authorized {
  readonly authorized: true;
  readonly principal: Principal;
  /** Headers for the application's response. */
  readonly headers: Readonly<Record<string, string>>;
}

export const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** A verified token, with everything that follows from it for each request that uses it. */
export class VerifiedToken {
  readonly resource: ProtectedResource;
  /** The token itself, for exchange at its own authorization server only. */
  readonly accessToken: string;
  readonly claims: VerifiedClaims;
  readonly principal: Principal;
  /** Granted scopes and those that they imply. */
  readonly effectiveScopes: ReadonlySet<string>;
  /** Epoch seconds after which the token has to be verified again. */
  readonly freshUntil: number;
  /** Epoch seconds. */
  readonly verifiedAt: number;
  /** The `kid` of the key that verified its signature. */
  readonly keyId: string | undefined;
  /** The key or certificate that the token is bound to, if any. */
  readonly binding: TokenBinding | null;
  /** The decision for the common request, which has no `Origin` and a bearer token. */
  readonly decision: Authorized;

  constructor(
    { claims, freshUntil, keyId }: VerificationResult,
    resource: ProtectedResource,
    scopes: TokenScopes,
    { accessToken, binding, verifiedAt }: Pick<VerifiedToken, 'accessToken' | 'binding' | 'verifiedAt'>,
  ) {
    this.resource = resource;
    this.accessToken = accessToken;
    this.claims = claims;
    this.effectiveScopes = scopes.effective;
    this.binding = binding;
    this.principal = createPrincipal(claims, scopes.granted, resource.resource, this);
    this.freshUntil = Math.min(freshUntil, claims.exp);
    this.verifiedAt = verifiedAt;
    this.keyId = keyId;
    this.decision = { authorized: true, principal: this.principal, headers: NO_HEADERS };
  }
}

/** Scopes as granted, and with those that they imply. */
interface TokenScopes {
  readonly granted: Scopes;
  readonly effective: ReadonlySet<string>;
}

/** The part of a request that presents its token. */
type TokenRequest = Pick<RequestInfo, 'authorization' | 'address'>;

/** Of a token that was verified while the clock was ahead it is not known for how long it is fresh. */
function isFresh({ freshUntil, verifiedAt }: VerifiedToken, now: number): boolean {
  return now < freshUntil && verifiedAt <= now + SKEW_TOLERANCE;
}

export type TokenAuthenticator = ReturnType<typeof createTokenAuthenticator>;

/** Returns the verified token of a principal; `undefined` if the principal was not created by a guard. */
export function verifiedTokenOf(principal: Principal): VerifiedToken | undefined {
  const source = sourceOf(principal);
  return source instanceof VerifiedToken ? source : undefined;
}

/** @throws TypeError for a principal that was not created by a guard */
export function requireVerifiedToken(principal: Principal): VerifiedToken {
  const verifiedToken = verifiedTokenOf(principal);
  if (verifiedToken !== undefined) return verifiedToken;
  throw new TypeError('This principal was not created by a guard: pass the one that the guard returned.');
}

/** Average characters per cached token, so that long tokens use no more memory than short ones. */
const CACHED_CHARACTERS_PER_TOKEN = 1024;

/** Longer headers are not looked up, only rejected. */
const MAX_HEADER_LENGTH = 16_500;

/** Caches by the whole header, so that a known token costs one look-up and no parsing. */
export function createTokenAuthenticator(settings: GuardSettings) {
  const { clock, clockTolerance, tokenCacheSize, dpop, certificates } = settings;
  const cache = createLruCache<VerifiedToken>({
    entries: tokenCacheSize,
    characters: tokenCacheSize * CACHED_CHARACTERS_PER_TOKEN,
  });

  const readScopes = createScopeReader();

  /**
   * Authenticates the token in an Authorization header; `null` if there is none. Synchronous for a cached token.
   * @throws OAuthError `invalid_request`, `invalid_token` or `temporarily_unavailable`
   */
  function authenticate(
    resource: ProtectedResource,
    request: TokenRequest,
  ): VerifiedToken | null | Promise<VerifiedToken> {
    const { authorization } = request;
    const field =
      typeof authorization === 'string' && authorization.length <= MAX_HEADER_LENGTH ? authorization : null;
    const now = clock();
    const known = field === null ? undefined : cache.get(field);
    if (known !== undefined && known.resource === resource && isFresh(known, now)) return known;
    const requestToken = readRequestToken(authorization);
    if (requestToken === null || (requestToken.scheme === 'DPoP' && dpop === null)) return null;
    if (requestToken.scheme === 'Bearer' && dpop?.required === true)
      throw bindingError('bearer tokens are not accepted');
    const keep = (found: VerificationResult): VerifiedToken => {
      const scopes = readScopes(found.claims, resource);
      const binding = checkTokenBinding(found.claims, requestToken.scheme, certificates !== null);
      const verifiedToken = new VerifiedToken(found, resource, scopes, {
        accessToken: requestToken.token,
        binding,
        verifiedAt: now,
      });
      if (field !== null && tokenCacheSize > 0 && verifiedToken.freshUntil > now)
        cache.set(field, verifiedToken);
      return verifiedToken;
    };
    const verified = verify(resource, requestToken.token, { now, request });
    return verified instanceof Promise ? verified.then(keep) : keep(verified);
  }

  return { authenticate, reverify };

  /**
   * Verifies a token again: epoch seconds until which the result is fresh, `null` if the token is no longer valid.
   * During an outage nothing changes.
   */
  async function reverify(verifiedToken: VerifiedToken, freshUntil: number): Promise<number | null> {
    const { resource, accessToken: token } = verifiedToken;
    const now = clock();
    try {
      if (resource.verifier.isLive !== undefined) await checkNotRevoked(verifiedToken);
      return now < freshUntil ? freshUntil : (await verify(resource, token, { now })).freshUntil;
    } catch (error) {
      return error instanceof OAuthError && error.code === 'temporarily_unavailable' ? freshUntil : null;
    }
  }

  function verify(
    resource: ProtectedResource,
    token: string,
    known: Pick<TokenExpectation, 'now' | 'request'>,
  ): VerificationResult | Promise<VerificationResult> {
    try {
      const expectation = { resource: resource.resource, clockTolerance, provesPossession: true, ...known };
      const verified = resource.verifier.verify(token, expectation);
      return verified instanceof Promise ? verified.catch(rethrowUnavailable) : verified;
    } catch (error) {
      return rethrowUnavailable(error);
    }
  }
}

/** Checks revocation. @throws OAuthError `invalid_token` if the token has been revoked */
export async function checkNotRevoked({ resource, claims, keyId }: VerifiedToken): Promise<void> {
  let live: boolean | undefined;
  try {
    live = await resource.verifier.isLive?.(claims, keyId);
  } catch (error) {
    rethrowUnavailable(error);
  }
  if (live !== true) throw tokenRejected('token was revoked', 'The access token is no longer valid.');
}

/** Parses the scopes of tokens, and caches the few combinations that most tokens of a resource have. */
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

/** An error of the verifier itself is an outage: neither a valid nor an invalid token. */
function rethrowUnavailable(error: unknown): never {
  if (error instanceof OAuthError) throw error;
  throw temporarilyUnavailable('the verifier failed', 5, error);
}
