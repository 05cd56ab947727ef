/** Introspection: a protected resource asks what a token is worth. */

import { readFormBody, respondCorsJson } from '@portcullis/http';
import { type AccessTokenClaims, formatScopes, OAuthError } from '@portcullis/protocol';
import type { AuthenticateClient } from './clients/authenticate-client.ts';
import type { AuthenticatedClient } from './clients/verify-client-credentials.ts';
import type { ServerContext } from './context.ts';
import type { Route } from './http/router.ts';
import type { AccessTokenFormat } from './keys/access-token-format.ts';
import { isOpaqueToken } from './keys/opaque-tokens.ts';
import type { IsLive } from './token/is-live.ts';
import type { FoundRefreshToken, RefreshTokens } from './token/refresh-token-family.ts';

/** All that is said of a token that is not active, or not the caller's to ask about. @see RFC 7662 §2.2 */
const INACTIVE = { active: false } as const;

/**
 * The introspection endpoint. Only confidential clients may call it: each about tokens that were issued to itself, and about
 * access tokens for those resources whose definition names it in `introspectionClients`.
 * @see RFC 7662 §2
 */
export function createIntrospection(
  context: ServerContext,
  { read }: AccessTokenFormat,
  authenticate: AuthenticateClient,
  isLive: IsLive,
  refreshTokens: RefreshTokens,
): Route {
  const {
    clock,
    options: { issuer, resources },
  } = context;
  const isHttps = issuer.startsWith('https:');
  return {
    method: 'POST',
    path: '/introspect',
    crossOrigin: true,
    async handle(request, connection) {
      const form = await readFormBody(request);
      const caller = checkConfidential(await authenticate(request, form, connection));
      const token = form.required('token');
      const answer = token.includes('.')
        ? await describeAccessToken(token, caller.id)
        : await describeRefreshToken(token, caller.id);
      return respondCorsJson(answer, { isHttps });
    },
  };

  async function describeAccessToken(token: string, callerId: string): Promise<object> {
    const claims = read(token);
    if (claims === null || claims.iss !== issuer || claims.exp <= clock()) return INACTIVE;
    const isOfResource = mayAskAbout(claims.aud, callerId);
    if (claims.client_id !== callerId && !isOfResource) return INACTIVE;
    if (!(await isLive(claims))) return INACTIVE;
    const told = isOfResource || !isOpaqueToken(token) ? claims : knownToClient(claims);
    return { active: true, token_type: 'Bearer', ...told };
  }

  function mayAskAbout(audience: AccessTokenClaims['aud'], callerId: string): boolean {
    const resource = typeof audience === 'string' ? resources.get(audience) : undefined;
    return resource?.introspectionClients?.includes(callerId) === true;
  }

  async function describeRefreshToken(token: string, callerId: string): Promise<object> {
    const found = await refreshTokens.find(token);
    if (found?.grant.clientId !== callerId || !isActive(found, clock())) return INACTIVE;
    const { grant, family } = found;
    return {
      active: true,
      iss: issuer,
      sub: grant.accountId,
      aud: grant.resources,
      client_id: grant.clientId,
      scope: formatScopes(grant.scopes),
      iat: family.issuedAt,
      exp: family.expiresAt,
      ...(grant.workspace !== null && { workspace: grant.workspace }),
    };
  }
}

/** What a client was told when it got the token: an opaque one says to its client neither whose it is nor of which grant. */
function knownToClient({
  iss,
  aud,
  client_id,
  scope,
  iat,
  exp,
}: AccessTokenClaims): Partial<AccessTokenClaims> {
  return { iss, aud, client_id, ...(scope !== undefined && { scope }), iat, exp };
}

/** Who calls MUST be authorized to: saying a public client's name proves nothing. @see RFC 7662 §2.1 */
function checkConfidential(client: AuthenticatedClient): AuthenticatedClient {
  if (client.authenticationMethod !== 'none') return client;
  throw new OAuthError('invalid_client', 'Introspection is for confidential clients.');
}

function isActive({ number, family, grant }: FoundRefreshToken, now: number): boolean {
  return (
    number === family.generation &&
    family.expiresAt > now &&
    grant.revokedAt === null &&
    grant.expiresAt > now
  );
}
