/** Reads the token of a request and its scheme, which says whether the token is bound to a key. */
import { OAuthError, readAuthorizationHeader, tokenRejected } from '@portcullis/protocol';

export interface RequestToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly token: string;
}

/** The `Authorization` header; a list if it was repeated. */
export type AuthorizationField = string | readonly string[] | null | undefined;

/**
 * Reads the token; `null` if there is none, or a scheme without a token.
 * @throws OAuthError `invalid_token` or `invalid_request` if it is malformed
 */
export function readRequestToken(authorization: AuthorizationField): RequestToken | null {
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

function isSingleWord(authorization: AuthorizationField): boolean {
  const field = typeof authorization === 'object' ? authorization?.[0] : authorization;
  const isAlone = typeof authorization !== 'object' || authorization?.length === 1;
  return isAlone && field !== undefined && field.trim().split(/[ \t]+/, 3).length === 2;
}
