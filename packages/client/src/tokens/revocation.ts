/** Signing out: the server is told that its tokens are not needed any more. */
import type { Registration } from '../registration/registration.ts';
import { requestToken, type TokenHands } from './token-endpoint.ts';
import type { Tokens } from './tokens.ts';

export interface RevocationRequest {
  readonly endpoint: string;
  readonly issuer: string;
  readonly registration: Registration;
  readonly tokens: Tokens;
}

/**
 * Revokes the refresh token, and the access token after it.
 * @throws ClientError when the server does not take it.
 * @see RFC 7009 §2.1
 */
export async function revokeTokens(hands: TokenHands, request: RevocationRequest): Promise<void> {
  const { endpoint, issuer, registration, tokens } = request;
  const forms = [
    ...(tokens.refreshToken === null
      ? []
      : [{ token: tokens.refreshToken, token_type_hint: 'refresh_token' }]),
    { token: tokens.accessToken, token_type_hint: 'access_token' },
  ];
  for (const form of forms) {
    await requestToken(hands, {
      endpoint,
      issuer,
      registration,
      form: new URLSearchParams(form),
      dpopKey: null,
    });
  }
}
