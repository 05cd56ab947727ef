/** Revoking a token at the third party: as the standard says, or in its own way. */
import * as oauth from 'oauth4webapi';
import { IdentityProviderError } from './provider-error.ts';
import type { ProviderTransport } from './provider-transport.ts';
import type { RevocationRequestFormat } from './response-formats.ts';
import type { ProviderTokenSet } from './token-set.ts';

/** @returns `impossible` when the third party has no way to revoke */
export async function revokeProviderTokens(
  line: ProviderTransport,
  server: oauth.AuthorizationServer,
  { accessToken, refreshToken }: ProviderTokenSet,
): Promise<'revoked' | 'impossible'> {
  const { dialect, client, authentication, options } = line;
  if (server.revocation_endpoint === undefined) return 'impossible';
  if (dialect.revocation !== null) {
    return revokeTheirWay(line, dialect.revocation, server.revocation_endpoint, accessToken);
  }
  // With the refresh token goes what was issued on it. @see RFC 7009 §2.1
  const token_type_hint = refreshToken === null ? 'access_token' : 'refresh_token';
  const answer = await oauth.revocationRequest(
    server,
    client(),
    authentication,
    refreshToken ?? accessToken,
    {
      ...options,
      additionalParameters: { token_type_hint },
    },
  );
  await oauth.processRevocationResponse(answer);
  return 'revoked';
}

async function revokeTheirWay(
  { fetch, identityProvider: { clientId, clientSecret } }: ProviderTransport,
  way: RevocationRequestFormat,
  endpoint: string,
  token: string,
): Promise<'revoked'> {
  const { method, path, body, proof } = way(token, clientId);
  const secret = Buffer.from(`${clientId}:${clientSecret ?? ''}`).toString('base64');
  const answer = await fetch(`${endpoint}${path}`, {
    method,
    headers: {
      accept: 'application/json',
      authorization: proof === 'client' ? `Basic ${secret}` : `Bearer ${token}`,
      ...(body !== null && { 'content-type': 'application/json' }),
    },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  // What they do not know is revoked already.
  if (answer.ok || answer.status === 404 || answer.status === 422) return 'revoked';
  throw new IdentityProviderError('misbehaved', `it answered a revocation with status ${answer.status}`);
}
