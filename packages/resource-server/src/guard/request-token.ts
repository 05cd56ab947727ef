/** The token of a request: its scheme, and the key or certificate that it is bound to (`cnf`). */
import { OAuthError, readAuthorizationHeader, tokenRejected } from '@portcullis/protocol';
import type { VerifiedClaims } from '../principal.ts';
import type { RequestInfo } from '../request-info.ts';

/** The scheme says whether the token is bound to a key. */
export interface RequestToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly token: string;
}

/**
 * Reads the token; `null` if there is none, or a scheme without a token.
 * @throws OAuthError `invalid_token` or `invalid_request` if it is malformed
 */
export function readRequestToken(authorization: RequestInfo['authorization']): RequestToken | null {
  const credentials = readAuthorizationHeader(authorization);
  if (credentials.kind === 'none') return null;
  if (credentials.kind === 'malformed') {
    // A malformed token is an invalid token; any other malformed header is an invalid request.
    if (isSingleWord(authorization))
      throw tokenRejected(credentials.reason, 'The access token is malformed.');
    throw new OAuthError('invalid_request', credentials.reason, { reason: credentials.reason });
  }
  return credentials;
}

function isSingleWord(authorization: RequestInfo['authorization']): boolean {
  const field = typeof authorization === 'object' ? authorization?.[0] : authorization;
  const isAlone = typeof authorization !== 'object' || authorization?.length === 1;
  return isAlone && field !== undefined && field.trim().split(/[ \t]+/, 3).length === 2;
}

/** The thumbprints in `cnf`. @see RFC 7800 */
export interface TokenBinding {
  /** The key of a DPoP proof. */
  readonly key: string | null;
  readonly certificate: string | null;
}

/** Members of `cnf`. */
const KEY = 'jkt';
const CERTIFICATE = 'x5t#S256';

/**
 * Rejects bound tokens if the binding is not verified here, and the DPoP scheme with a token that is not bound.
 * @throws OAuthError `invalid_token`
 * @see RFC 9449 §7.1 and §7.2, RFC 8705 §3, RFC 7800 §3.1
 */
export function checkTokenBinding(
  { cnf }: VerifiedClaims,
  scheme: RequestToken['scheme'],
  acceptsCertificates: boolean,
): TokenBinding | null {
  const isBound = cnf !== undefined && cnf !== null;
  const members = isBound ? Object.entries(cnf) : [];
  const { [KEY]: key = null, [CERTIFICATE]: certificate = null } = Object.fromEntries(members);
  const isUnderstood = members.every(
    ([name, value]) =>
      (name === KEY || (name === CERTIFICATE && acceptsCertificates)) && typeof value === 'string',
  );
  if (!isUnderstood || (isBound && members.length === 0))
    throw bindingError('the token is bound in an unsupported way');
  if ((key !== null) !== (scheme === 'DPoP')) {
    throw bindingError(
      key === null
        ? 'a bearer token was sent with the scheme DPoP'
        : 'a DPoP-bound token was sent as a bearer token',
    );
  }
  return isBound ? { key, certificate } : null;
}

export function bindingError(reason: string): OAuthError {
  return tokenRejected(reason, 'Use the scheme DPoP for tokens bound to a key, and only for those.');
}
