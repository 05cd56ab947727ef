/** The ID token of a login, stored for token exchange: its expiry, and its replacement on refresh. */

import { isMembers, parseStrictJson } from '@portcullis/http';
import * as oauth from 'oauth4webapi';
import type { ProviderTransport } from './transport.ts';

/** Seconds before its expiry at which an ID token is no longer used: it has to reach the token endpoint. */
const MARGIN = 30;

/** @param idToken validated when it was received */
export function isIdTokenExpired(idToken: string, now: number): boolean {
  const { exp } = claimsOf(idToken);
  return typeof exp !== 'number' || exp - MARGIN <= now;
}

/** Whether a client is an audience of an ID token: only a provider that knows it by this name may receive the token. */
export function isIdTokenFor(idToken: string, clientId: string): boolean {
  const { aud } = claimsOf(idToken);
  return Array.isArray(aud) ? aud.includes(clientId) : aud === clientId;
}

/**
 * The ID token of a refresh; the one before if there is none, or none that is valid and about the same user: it must not cost the
 * only copy of the new refresh token.
 * @see OpenID Connect Core 1.0 §12.2
 */
export async function renewIdToken(
  { client, options }: ProviderTransport,
  server: oauth.AuthorizationServer,
  response: Response,
  before: string,
): Promise<string> {
  try {
    const body = await oauth.processRefreshTokenResponse(server, client(), response);
    const claims = oauth.getValidatedIdTokenClaims(body);
    if (claims === undefined || claims.sub !== claimsOf(before)['sub']) return before;
    await oauth.validateApplicationLevelSignature(server, response, options);
    return body.id_token ?? before;
  } catch {
    return before;
  }
}

function claimsOf(idToken: string): Readonly<Record<string, unknown>> {
  const claims: unknown = parseStrictJson(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());
  return isMembers(claims) ? claims : {};
}
