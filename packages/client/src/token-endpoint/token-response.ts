/** Token responses: validation, the tokens that the client stores, and when they have to be renewed. */
import { readLenientScopes, readTokenScheme, type Scopes } from '@portcullis/protocol';
import { readTokenResponse } from '@portcullis/protocol/documents';
import { ClientError } from '../errors.ts';
import type { PrivateEcJwk } from '../signing-key.ts';
import type { Tokens } from '../storage/credentials.ts';

/** What the response alone does not say. */
export interface TokenResponseContext {
  readonly now: number;
  readonly requestedScopes: Scopes;
  readonly resource: string | null;
  /** The only resource that the response may name; absent: the named resource is ignored. */
  readonly statedResource?: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly dpopKey: PrivateEcJwk | null;
  /** Whether a bearer token is refused: the protected server accepts bound tokens only, or the session is bound. */
  readonly requiresDpop?: boolean;
  /** The refresh token that was used: it stays valid when the response has none. */
  readonly refreshToken: string | null;
  /** Scopes before a refresh; `null` for a first grant. */
  readonly scopes: Scopes | null;
}

/** Characters that a token in a header may have. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/**
 * Validates a successful response of the token endpoint. The client MUST NOT use an access token if it does not
 * understand the token type.
 * @throws ClientError `token_response_invalid`
 * @see RFC 6749 §5.1 and §7.1, OAuth 2.1 draft 13 §3.2.3, RFC 9449 §5
 */
export function readTokens(json: unknown, context: TokenResponseContext): Tokens {
  const reading = readTokenResponse(json);
  if ('issues' in reading) throw invalid('is not a token response');
  const { document } = reading;
  if (!HEADER_SAFE.test(document.access_token)) throw invalid('has an access token that no header can carry');
  const scheme = readTokenScheme(document.token_type);
  if (scheme === null) throw invalid('has an unknown token type');
  if (scheme === 'DPoP' && context.dpopKey === null)
    throw invalid('binds the token to a key although no DPoP proof was sent');
  // A client that requires the protection MUST discard the response. RFC 9449 §5
  if (scheme !== 'DPoP' && context.requiresDpop === true)
    throw invalid('has a bearer token where one that is bound to the DPoP key is required');
  checkStatedResource(json, context);
  const { now, requestedScopes, resource, tokenEndpoint, clientId } = context;
  return {
    accessToken: document.access_token,
    scheme,
    expiresAt: expiryOf(document.expires_in, now),
    obtainedAt: now,
    refreshToken: document.refresh_token || context.refreshToken,
    scopes:
      document.scope === undefined ? (context.scopes ?? requestedScopes) : readLenientScopes(document.scope),
    requestedScopes,
    resource,
    tokenEndpoint,
    clientId,
    // The refresh token stays bound, even if this access token is not.
    dpopKey: scheme === 'DPoP' || context.scopes !== null ? context.dpopKey : null,
  };
}

function checkStatedResource(json: unknown, { statedResource: wanted }: TokenResponseContext): void {
  const { resource } = json as { readonly resource?: unknown };
  if (wanted === undefined || resource === undefined) return;
  const stated: readonly unknown[] = Array.isArray(resource) ? resource : [resource];
  const isWanted = (one: unknown) =>
    typeof one === 'string' && URL.parse(one)?.href === URL.parse(wanted)?.href;
  if (stated.length === 0 || !stated.every(isWanted)) throw invalid('is for another resource');
}

function expiryOf(lifetime: number | undefined, now: number): number | null {
  return lifetime === undefined || !(lifetime > 0) ? null : now + Math.min(lifetime, 1e9) * 1000;
}

function invalid(what: string): ClientError {
  return new ClientError('token_response_invalid', `The response of the token endpoint ${what}.`);
}

/** Tokens are renewed this long before they expire, or in the last quarter of a short lifetime. Milliseconds. */
const RENEWAL_WINDOW = 60_000;

/**
 * Whether the access token should be renewed before it is sent.
 * @param now epoch milliseconds
 * @see RFC 6749 §5.1, `expires_in`
 */
export function isStale(tokens: Tokens, now: number): boolean {
  if (tokens.expiresAt === null) return false;
  return now >= tokens.expiresAt - Math.min(RENEWAL_WINDOW, (tokens.expiresAt - tokens.obtainedAt) / 4);
}

/** Whether the access token has expired. */
export function isExpired(tokens: Tokens, now: number): boolean {
  return tokens.expiresAt !== null && now >= tokens.expiresAt;
}
