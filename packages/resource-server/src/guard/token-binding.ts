/** Sender-constrained tokens: reads the key or certificate that a token is bound to (`cnf`). */
import { type OAuthError, tokenRejected } from '@portcullis/protocol';
import type { VerifiedClaims } from '../principal.ts';
import type { RequestToken } from './request-token.ts';

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
