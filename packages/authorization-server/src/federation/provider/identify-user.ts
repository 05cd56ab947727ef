/** Identifies the user of a federated login: by a verified ID token, or by the userinfo endpoint. */

import { isMembers } from '@portcullis/http';
import type * as oauth from 'oauth4webapi';
import { checkAvailable, IdentityProviderError } from './error.ts';
import { type FederatedUser, readFederatedUser, readOpenIdConnectUser } from './federated-user.ts';
import { translateResponse } from './response-formats.ts';
import { CLOCK_TOLERANCE, type ProviderTransport } from './transport.ts';

type Claims = Readonly<Record<string, unknown>>;

/** @param idToken claims of a validated ID token whose signature is verified */
export async function identifyUser(
  transport: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
  idToken: oauth.IDToken | undefined,
): Promise<FederatedUser> {
  const { provider } = transport.identityProvider;
  if (provider.protocol === 'oauth') return fetchUser(transport, server, accessToken);
  if (idToken === undefined) throw new IdentityProviderError('misbehaved', 'no ID token');
  // OpenID Connect Core 1.0 §3.1.3.7: the library checks exp and nbf, but not iat.
  if (idToken.iat > transport.clock() + CLOCK_TOLERANCE)
    throw new IdentityProviderError('misbehaved', 'its ID token was issued in the future');
  const user = readOpenIdConnectUser(provider.issuer, idToken);
  if (server.userinfo_endpoint === undefined) return user;
  // Userinfo may add claims. Its `sub` MUST match that of the ID token. @see OpenID Connect Core 1.0 §5.3.2
  const response = await requestUserinfo(transport, server, accessToken);
  // Any other failure would remove claims by which users are allowed, deactivated and put into groups.
  if (offersNoClaims(response)) return user;
  const userinfo = await readUserinfo(response);
  if (userinfo['sub'] !== user.subject)
    throw new IdentityProviderError('misbehaved', 'userinfo is of another user');
  return readOpenIdConnectUser(provider.issuer, merge(userinfo, idToken));
}

/** `email_verified` belongs to the email address in the same document, and to no other. */
function merge(userinfo: Claims, idToken: Claims): Claims {
  const { email_verified: isVerified, ...proven } = idToken;
  if (idToken['email'] === undefined) return { ...userinfo, ...proven };
  if (idToken['email'] === userinfo['email']) return { ...userinfo, ...idToken };
  return { ...userinfo, ...proven, email_verified: isVerified };
}

/** Fetches the user of an access token. @throws IdentityProviderError `invalid_token` if the token is no longer valid */
export async function fetchUser(
  transport: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
): Promise<FederatedUser> {
  const { provider } = transport.identityProvider;
  const claims = await readUserinfo(await requestUserinfo(transport, server, accessToken));
  return provider.protocol === 'oauth'
    ? readFederatedUser(provider.issuer, claims, provider.userinfoClaims)
    : readOpenIdConnectUser(provider.issuer, claims);
}

/** @throws IdentityProviderError `outage`, OutboundError */
async function requestUserinfo(
  { fetch, responseFormat, identityProvider }: ProviderTransport,
  { userinfo_endpoint: url }: oauth.AuthorizationServer,
  accessToken: string,
): Promise<Response> {
  if (url === undefined) throw new IdentityProviderError('misbehaved', 'no userinfo endpoint');
  const received = await fetch(url, {
    headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
  });
  const isOpenId = identityProvider.provider.protocol === 'openid';
  const response = isOpenId ? received : await translateResponse(received, responseFormat.readUser);
  checkAvailable(response, 0);
  return response;
}

/** Whether userinfo refuses the token, as one for another API, or is signed, which is not supported. */
function offersNoClaims({ status, headers }: Response): boolean {
  return (status >= 400 && status < 500) || /^application\/jwt\b/i.test(headers.get('content-type') ?? '');
}

async function readUserinfo(response: Response): Promise<Claims> {
  if (response.status === 401) {
    throw new IdentityProviderError('refused', 'it no longer accepts its token', {
      code: 'invalid_token',
    });
  }
  const body: unknown = response.status === 200 ? await response.json() : null;
  if (isMembers(body)) return body;
  throw new IdentityProviderError('misbehaved', `userinfo responded with status ${response.status}`);
}
