/** The revocation endpoint: a client revokes one of its tokens. */
import { readFormBody, respondCorsJson } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { AuthenticateClient } from './clients/authenticate-client.ts';
import type { ServerContext } from './context.ts';
import type { Route } from './http/router.ts';
import type { AccessTokenFormat } from './keys/access-token-format.ts';
import type { RefreshTokens } from './token/refresh-token-family.ts';

/**
 * Revoking a refresh token revokes its grant with all access tokens; revoking an access token affects only that token. The response
 * for unknown and expired tokens is the same. `token_type_hint` is not needed: the two kinds of tokens differ in form.
 * @see RFC 7009 §2
 */
export function createRevocation(
  { store, clock, events, options: { issuer } }: ServerContext,
  { read }: AccessTokenFormat,
  authenticate: AuthenticateClient,
  refreshTokens: RefreshTokens,
): Route {
  const isHttps = issuer.startsWith('https:');
  return {
    method: 'POST',
    path: '/revoke',
    crossOrigin: true,
    async handle(request, connection) {
      const form = await readFormBody(request);
      const { id: clientId } = await authenticate(request, form, connection);
      const token = form.required('token');
      await (token.includes('.') ? revokeAccessToken(token, clientId) : revokeRefreshToken(token, clientId));
      // The content is ignored (RFC 7009 §2.2), but clients that parse every response as JSON fail on an empty one.
      return respondCorsJson({}, { isHttps });
    },
  };

  async function revokeRefreshToken(token: string, clientId: string): Promise<void> {
    const found = await refreshTokens.find(token);
    if (found === null) return;
    checkOwner(found.grant.clientId, clientId);
    const { id: grantId, accountId } = found.grant;
    if (await store.revokeGrant(grantId, clock()))
      events({ type: 'token.revoked', clientId, grantId, accountId });
  }

  async function revokeAccessToken(token: string, clientId: string): Promise<void> {
    const claims = read(token);
    if (claims === null || claims.exp <= clock()) return;
    checkOwner(claims.client_id, clientId);
    if (!(await store.revokeAccessToken(claims.jti, claims.exp))) return;
    events({
      type: 'token.revoked',
      clientId,
      ...(claims.grant_id !== undefined && { grantId: claims.grant_id }),
    });
  }
}

/**
 * If the token was not issued to the client, the request is refused and the client is informed: it would take the token for dead.
 * @see RFC 7009 §2.1
 */
function checkOwner(owner: string | undefined, clientId: string): void {
  if (owner === clientId) return;
  throw new OAuthError(
    'invalid_grant',
    'The token was issued to another client, which alone can revoke it.',
    {
      reason: 'revocation: a token of another client',
    },
  );
}
