/** What an Authorization header presents: a token, and the scheme that says whether it is bound to a key. */
import { OAuthError, readAuthorizationHeader } from '@portcullis/protocol/protected-resource';

export interface RequestToken {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly token: string;
}

/** The field as it came; more than one where it was sent repeatedly. */
export type AuthorizationField = string | readonly string[] | null | undefined;

/**
 * Reads what is presented; `null` when nothing is, or under a scheme that carries no token.
 * @throws OAuthError `invalid_token` or `invalid_request` for what is malformed
 */
export function readRequestToken(authorization: AuthorizationField): RequestToken | null {
  const credentials = readAuthorizationHeader(authorization);
  if (credentials.kind === 'none') return null;
  if (credentials.kind === 'malformed') {
    // A malformed token is a bad token; anything else that is malformed is a bad request.
    if (isSingleWord(authorization)) {
      throw new OAuthError('invalid_token', 'The access token is malformed.', { reason: credentials.reason });
    }
    throw new OAuthError('invalid_request', credentials.reason, { reason: credentials.reason });
  }
  return credentials;
}

function isSingleWord(authorization: AuthorizationField): boolean {
  const field = typeof authorization === 'object' ? authorization?.[0] : authorization;
  const isAlone = typeof authorization !== 'object' || authorization?.length === 1;
  return isAlone && field !== undefined && field.trim().split(/[ \t]+/, 3).length === 2;
}
