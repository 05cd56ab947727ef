/** Identifying a person: by a proven ID token, or by asking the third party who the bearer of its token is. */
import type * as oauth from 'oauth4webapi';
import { type FederatedUser, readFederatedUser, readOpenIdConnectUser } from './federated-user.ts';
import { checkAvailable, IdentityProviderError } from './provider-error.ts';
import type { ProviderTransport } from './provider-transport.ts';
import { isJsonObject, translateResponse } from './response-formats.ts';

type Said = Readonly<Record<string, unknown>>;

/** @param idToken the claims of an ID token, validated and its signature verified */
export async function identifyUser(
  line: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
  idToken: oauth.IDToken | undefined,
): Promise<FederatedUser> {
  const { provider } = line.identityProvider;
  if (provider.protocol === 'oauth') return fetchUser(line, server, accessToken);
  if (idToken === undefined) throw new IdentityProviderError('misbehaved', 'its answer has no ID token');
  const known = readOpenIdConnectUser(provider.issuer, idToken);
  if (server.userinfo_endpoint === undefined) return known;
  // It may say more of a person whom the ID token has proven. It MUST be of the same. @see OpenID Connect Core §5.3.2
  const more = await askBearer(line, server, accessToken).catch(() => null);
  if (more === null) return known;
  if (more['sub'] !== known.subject) throw new IdentityProviderError('misbehaved', 'it speaks of two people');
  return readOpenIdConnectUser(provider.issuer, join(more, idToken));
}

/** That an address is verified is said of the one that stands beside it, and of no other. */
function join(more: Said, idToken: Said): Said {
  const { email_verified: isVerified, ...proven } = idToken;
  if (idToken['email'] === undefined) return { ...more, ...proven };
  if (idToken['email'] === more['email']) return { ...more, ...idToken };
  return { ...more, ...proven, email_verified: isVerified };
}

/** Who the bearer of a token is. @throws ThirdPartyFault `invalid_token` when it is nobody's any more */
export async function fetchUser(
  line: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
): Promise<FederatedUser> {
  const { provider } = line.identityProvider;
  const said = await askBearer(line, server, accessToken);
  return provider.protocol === 'oauth'
    ? readFederatedUser(provider.issuer, said, provider.userinfoClaims)
    : readOpenIdConnectUser(provider.issuer, said);
}

async function askBearer(
  { fetch, dialect, identityProvider }: ProviderTransport,
  { userinfo_endpoint: url }: oauth.AuthorizationServer,
  accessToken: string,
): Promise<Said> {
  if (url === undefined)
    throw new IdentityProviderError('misbehaved', 'it has no way to say who somebody is');
  const answer = await fetch(url, {
    headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
  });
  const isOpenId = identityProvider.provider.protocol === 'openid';
  const response = isOpenId ? answer : await translateResponse(answer, dialect.readUser);
  checkAvailable(response, 0);
  if (response.status === 401) {
    throw new IdentityProviderError('refused', 'it does not take its token any more', {
      code: 'invalid_token',
    });
  }
  const body: unknown = response.status === 200 ? await response.json() : null;
  if (isJsonObject(body)) return body;
  throw new IdentityProviderError('misbehaved', `it answered with status ${response.status} who somebody is`);
}
