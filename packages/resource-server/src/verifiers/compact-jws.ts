/** Parses a JWS in compact form, within size limits and before any cryptography. */
import {
  createLruCache,
  isAccessTokenType,
  isBase64url,
  type OAuthError,
  parseJsonSegment,
  tokenRejected,
} from '@portcullis/protocol';

/** The header members that are used. Keys in a header (`jwk`, `jku`, `x5c`) are never read. */
interface TokenHeader {
  /** As written; empty if missing. */
  readonly typ: string;
  readonly isAccessToken: boolean;
  readonly alg: string;
  readonly kid: string | undefined;
}

export interface CompactJws {
  readonly header: TokenHeader;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Header and payload as signed. */
  readonly signingInput: string;
  /** In base64url. */
  readonly signature: string;
}

/** Characters. */
export const LONGEST_TOKEN = 16_384;
const LONGEST_HEADER = 4096;
const LONGEST_KEY_ID = 512;

/** Tokens of an issuer share their header, so parsed headers are cached. */
const headers = createLruCache<TokenHeader>({ entries: 64, characters: 64 * 512 });

/**
 * Parses a compact JWS.
 * @param otherTypes accepted `typ` headers besides that of access tokens
 * @throws OAuthError `invalid_token`
 * @see RFC 7515 §7.1, RFC 9068 §2.1
 */
export function parseCompactJws(token: string, otherTypes: readonly string[]): CompactJws {
  if (token.length > LONGEST_TOKEN) throw malformed('token is too long');
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first < 1 || second === -1) throw malformed('token does not have three segments');
  const [header, payload, signature] = [
    token.slice(0, first),
    token.slice(first + 1, second),
    token.slice(second + 1),
  ];
  if (header.length > LONGEST_HEADER) throw malformed('header is too long');
  if (!isBase64url(signature)) throw malformed('a segment is not base64url');
  const read = headers.get(header) ?? readHeader(header);
  if (!read.isAccessToken && !otherTypes.includes(read.typ)) throw malformed('typ is not at+jwt');
  return {
    header: read,
    payload: parseSegment(payload),
    signingInput: token.slice(0, second),
    signature,
  };
}

/** Returns the issuer that a token names; `null` if it is not a JWT. Unverified. */
export function readUnverifiedIssuer(token: string): string | null {
  const iss = readUnverifiedClaims(token)?.['iss'];
  return typeof iss === 'string' ? iss : null;
}

/** Returns the claims of a token; `null` if it is not a JWT. Unverified. */
export function readUnverifiedClaims(token: string): Readonly<Record<string, unknown>> | null {
  const segments = token.length > LONGEST_TOKEN ? [] : token.split('.');
  if (segments.length !== 3) return null;
  try {
    return parseSegment(segments[1] ?? '');
  } catch {
    return null;
  }
}

/** Parses a header. @throws OAuthError `invalid_token` */
function readHeader(segment: string): TokenHeader {
  const { alg, kid, typ = '', cty, crit, b64 } = parseSegment(segment);
  if (typeof alg !== 'string') throw malformed('alg is missing');
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > LONGEST_KEY_ID))
    throw malformed('kid is not a key id');
  if (typeof typ !== 'string') throw malformed('typ is not a string');
  // No extension is supported, so none may be critical. RFC 7515 §4.1.11
  if (crit !== undefined || b64 !== undefined) throw malformed('header asks for an extension');
  if (cty !== undefined) throw malformed('token holds another token');
  // The resource server MUST verify that the typ header is at+jwt or application/at+jwt. RFC 9068 §4
  const header = { alg, kid, typ, isAccessToken: isAccessTokenType(typ) };
  headers.set(segment, header);
  return header;
}

/** Parses a base64url segment. @throws OAuthError `invalid_token` */
function parseSegment(segment: string): Readonly<Record<string, unknown>> {
  try {
    return parseJsonSegment(segment);
  } catch (error) {
    throw malformed(error instanceof SyntaxError ? error.message : 'a segment is malformed');
  }
}

function malformed(reason: string): OAuthError {
  return tokenRejected(reason, 'The access token is malformed, or no access token.');
}
