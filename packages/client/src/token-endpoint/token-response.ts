/** Tokens as the client keeps them, with everything that refreshing and explaining them needs. */
import { readLenientScopes, readTokenResponse, type Scopes } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { PrivateEcJwk } from '../jwk.ts';

/** The tokens of one session. */
export interface Tokens {
  readonly accessToken: string;
  readonly scheme: 'Bearer' | 'DPoP';
  /** Epoch milliseconds; `null`: not told. */
  readonly expiresAt: number | null;
  /** Epoch milliseconds. */
  readonly obtainedAt: number;
  readonly refreshToken: string | null;
  /** What was granted, as far as the server said; else what was asked for. */
  readonly scopes: Scopes;
  /** All that was ever asked for in this session: what a step-up builds on. */
  readonly requestedScopes: Scopes;
  readonly resource: string | null;
  /** The endpoint that issued them, and the only one that their refresh token is sent to. */
  readonly tokenEndpoint: string;
  readonly clientId: string;
  /** Private key that the access token is bound to. */
  readonly dpopKey: PrivateEcJwk | null;
}

/** What the answer alone does not tell. */
export interface TokenResponseContext {
  readonly now: number;
  readonly requestedScopes: Scopes;
  readonly resource: string | null;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly dpopKey: PrivateEcJwk | null;
  /** The refresh token that was used: it stays when the answer brings none. */
  readonly refreshToken: string | null;
  /** Scopes before a refresh; `null` at a first grant. */
  readonly scopes: Scopes | null;
}

/** What may stand in a header. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/**
 * Understands a successful answer of the token endpoint. A token of unknown type MUST NOT be used.
 * @throws ClientError `token_response_invalid`
 * @see OAuth 2.1 draft 13 §3.2.3 and §4.3.2
 */
export function readTokens(json: unknown, context: TokenResponseContext): Tokens {
  const reading = readTokenResponse(json);
  if ('issues' in reading) throw invalid('is not a token response');
  const { document } = reading;
  if (!HEADER_SAFE.test(document.access_token)) throw invalid('holds a token that cannot stand in a header');
  const scheme = schemeOf(document.token_type);
  if (scheme === null) throw invalid('holds a token of a type that is not known here');
  if (scheme === 'DPoP' && context.dpopKey === null)
    throw invalid('binds the token to a key that was never shown');
  const lifetime = document.expires_in;
  return {
    accessToken: document.access_token,
    scheme,
    expiresAt:
      lifetime === undefined || !(lifetime > 0) ? null : context.now + Math.min(lifetime, 1e9) * 1000,
    obtainedAt: context.now,
    refreshToken: document.refresh_token ?? context.refreshToken,
    scopes:
      document.scope === undefined
        ? (context.scopes ?? context.requestedScopes)
        : readLenientScopes(document.scope),
    requestedScopes: context.requestedScopes,
    resource: context.resource,
    tokenEndpoint: context.tokenEndpoint,
    clientId: context.clientId,
    dpopKey: scheme === 'DPoP' ? context.dpopKey : null,
  };
}

/** Type names are compared without regard to case. */
function schemeOf(type: string): Tokens['scheme'] | null {
  const name = type.toLowerCase();
  return name === 'bearer' ? 'Bearer' : name === 'dpop' ? 'DPoP' : null;
}

function invalid(what: string): ClientError {
  return new ClientError('token_response_invalid', `The answer of the token endpoint ${what}.`);
}

/** Tokens are renewed this long before they expire, at most: a quarter of a short life is kept. Milliseconds. */
const EARLY = 60_000;

/** Whether the access token should be renewed before it is sent. */
export function isStale(tokens: Tokens, now: number): boolean {
  if (tokens.expiresAt === null) return false;
  return now >= tokens.expiresAt - Math.min(EARLY, (tokens.expiresAt - tokens.obtainedAt) / 4);
}

/** Whether the access token is past its life. */
export function isExpired(tokens: Tokens, now: number): boolean {
  return tokens.expiresAt !== null && now >= tokens.expiresAt;
}
