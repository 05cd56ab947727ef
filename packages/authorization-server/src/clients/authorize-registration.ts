/** Authorizes a registration by its initial access token. */
import type { HttpRequest } from '@portcullis/http';
import { OAuthError, readAuthorizationHeader } from '@portcullis/protocol';
import { hashSecret, matchesSecret } from '../secrets.ts';
import type { AuthorizationStore, InitialAccessTokenRecord } from '../store/index.ts';
import type { RegistrationRules } from './registration-options.ts';

/**
 * Where none is required, an unused initial access token is still consumed, and any other token is ignored.
 * @returns the unused initial access token of the request; `null` when none was required, or it is one from the configuration
 * @throws OAuthError when the request may not register a client
 * @see RFC 7591 §3
 */
export async function checkInitialAccess(
  request: HttpRequest,
  { requireInitialAccessToken, initialAccessHashes: hashes }: RegistrationRules,
  store: Pick<AuthorizationStore, 'findInitialAccessToken'>,
  now: number,
): Promise<InitialAccessTokenRecord | null> {
  const token = readBearerToken(request);
  if (token === null) {
    if (requireInitialAccessToken) throw invalidInitialAccessToken('none');
    return null;
  }
  if (hashes.some((known) => matchesSecret(token, known))) return null;
  const initialAccessToken = await store.findInitialAccessToken(hashSecret(token), now);
  if (initialAccessToken !== null && initialAccessToken.clientId === null) return initialAccessToken;
  if (requireInitialAccessToken)
    throw invalidInitialAccessToken(initialAccessToken === null ? 'unknown' : 'used');
  return null;
}

export function invalidInitialAccessToken(reason: 'none' | 'unknown' | 'used'): OAuthError {
  return new OAuthError('invalid_token', 'Send an initial access token of this server as a bearer token.', {
    reason: `initial access token: ${reason}`,
  });
}

/** The bearer token of a request; `null` without a readable one. */
export function readBearerToken(request: HttpRequest): string | null {
  const credentials = readAuthorizationHeader(request.headers.get('authorization'));
  return credentials.kind === 'token' && credentials.scheme === 'Bearer' ? credentials.token : null;
}
