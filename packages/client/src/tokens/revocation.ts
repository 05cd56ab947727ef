/** Signing out: the server is told that its tokens are not needed any more. */
import { ClientError } from '../errors.ts';
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
 * Revokes the refresh token, and the access token after it. An access token that the server cannot revoke, as a signed
 * one, ends by itself soon.
 * @throws ClientError when the server does not take it.
 * @see RFC 7009 §2.1 and §2.2.1
 */
export async function revokeTokens(hands: TokenHands, request: RevocationRequest): Promise<void> {
  const { refreshToken, accessToken } = request.tokens;
  if (refreshToken !== null) await revoke(hands, request, refreshToken, 'refresh_token');
  try {
    await revoke(hands, request, accessToken, 'access_token');
  } catch (error) {
    const unable = error instanceof ClientError && error.oauthError === 'unsupported_token_type';
    if (!unable || refreshToken === null) throw error;
  }
}

async function revoke(
  hands: TokenHands,
  request: RevocationRequest,
  token: string,
  hint: string,
): Promise<void> {
  const { endpoint, issuer, registration } = request;
  const form = new URLSearchParams({ token, token_type_hint: hint });
  await requestToken(hands, { endpoint, issuer, registration, form, dpopKey: null });
}
