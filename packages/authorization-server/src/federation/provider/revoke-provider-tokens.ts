/** Revokes tokens at an identity provider: with RFC 7009, or with the provider's own request. */
import * as oauth from 'oauth4webapi';
import { IdentityProviderError } from './error.ts';
import type { RevocationRequestFormat } from './response-formats.ts';
import type { ProviderTokenSet } from './token-set.ts';
import type { ProviderTransport } from './transport.ts';

/** @returns `unsupported` if the provider has no revocation endpoint */
export async function revokeProviderTokens(
  transport: ProviderTransport,
  server: oauth.AuthorizationServer,
  { accessToken, refreshToken }: ProviderTokenSet,
): Promise<'revoked' | 'unsupported'> {
  const { responseFormat, client, authentication, options } = transport;
  if (server.revocation_endpoint === undefined) return 'unsupported';
  if (responseFormat.revocation !== null) {
    return revokeByFormat(transport, responseFormat.revocation, server.revocation_endpoint, accessToken);
  }
  // Revoking the refresh token also revokes the access tokens. @see RFC 7009 §2.1
  const token_type_hint = refreshToken === null ? 'access_token' : 'refresh_token';
  const response = await oauth.revocationRequest(
    server,
    client(),
    authentication,
    refreshToken ?? accessToken,
    {
      ...options,
      additionalParameters: { token_type_hint },
    },
  );
  await oauth.processRevocationResponse(response);
  return 'revoked';
}

async function revokeByFormat(
  { fetch, responseFormat, identityProvider: { clientId, clientSecret } }: ProviderTransport,
  format: RevocationRequestFormat,
  endpoint: string,
  token: string,
): Promise<'revoked'> {
  const { method, path, body, proof } = format(token, clientId);
  const secret = Buffer.from(`${clientId}:${clientSecret ?? ''}`).toString('base64');
  const response = await fetch(`${endpoint}${path}`, {
    method,
    headers: {
      accept: 'application/json',
      authorization: proof === 'client' ? `Basic ${secret}` : `Bearer ${token}`,
      ...(body !== null && { 'content-type': 'application/json' }),
    },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  const received: unknown = await response.json().catch(() => null);
  if (responseFormat.isRevoked(response.status, received)) return 'revoked';
  throw new IdentityProviderError(
    'misbehaved',
    `it responded to a revocation with status ${response.status}`,
  );
}
