/** What a token is bound to: a key or a certificate of its client, without which it is worth nothing. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import type { VerifiedClaims } from '../principal.ts';
import type { RequestToken } from './request-token.ts';

/** Thumbprints of what the token is bound to. */
export interface TokenBinding {
  /** A key, of which a proof has to speak. */
  readonly key: string | null;
  readonly certificate: string | null;
}

/** Members of `cnf`, and what each binds a token to. */
const KEY = 'jkt';
const CERTIFICATE = 'x5t#S256';

/**
 * A bound token is worth nothing without what it is bound to, so it is refused where nobody looks at that; and a scheme
 * that promises a proof is worth nothing with a token that needs none.
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
    throw bindingError('the token is bound in a way that is not understood');
  if ((key !== null) !== (scheme === 'DPoP')) {
    throw bindingError(
      key === null ? 'a plain token was sent as a bound one' : 'a bound token was sent as a plain one',
    );
  }
  return isBound ? { key, certificate } : null;
}

export function bindingError(reason: string): OAuthError {
  return new OAuthError('invalid_token', 'Send tokens that are bound to a key as DPoP, and only them.', {
    reason,
  });
}
