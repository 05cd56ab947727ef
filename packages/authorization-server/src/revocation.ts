/** Revocation: a client gives back a token of its own. */

import { readFormBody, respond } from '@portcullis/http';
import type { AuthenticateClient } from './clients/authenticate-client.ts';
import type { ServerContext } from './context.ts';
import type { Route } from './http/router.ts';
import type { AccessTokenFormat } from './keys/access-token-format.ts';
import type { RefreshTokens } from './token/refresh-token-family.ts';

/**
 * The revocation endpoint. A refresh token takes its whole grant with it, and with that all access tokens of it; an access
 * token goes alone. Tokens that are unknown, dead or somebody else's are answered as if they had been revoked, so that the
 * answer tells nothing about them. `token_type_hint` is not needed: the two kinds cannot be mistaken.
 * @see RFC 7009 §2
 */
export function createRevocation(
  { store, clock, events }: ServerContext,
  { read }: AccessTokenFormat,
  authenticate: AuthenticateClient,
  refreshTokens: RefreshTokens,
  onTokenRevoked: ((tokenId: string) => void) | null,
): Route {
  return {
    method: 'POST',
    path: '/revoke',
    crossOrigin: true,
    async handle(request, connection) {
      const form = await readFormBody(request);
      const { id: clientId } = await authenticate(request, form, connection);
      const token = form.required('token');
      await (token.includes('.') ? revokeAccessToken(token, clientId) : revokeRefreshToken(token, clientId));
      return respond(200, { 'cache-control': 'no-store', pragma: 'no-cache' });
    },
  };

  async function revokeRefreshToken(token: string, clientId: string): Promise<void> {
    const found = await refreshTokens.find(token);
    if (found?.grant.clientId !== clientId) return;
    const { id: grantId, accountId } = found.grant;
    if (await store.revokeGrant(grantId, clock()))
      events({ type: 'token.revoked', clientId, grantId, accountId });
  }

  async function revokeAccessToken(token: string, clientId: string): Promise<void> {
    const claims = read(token);
    if (claims === null || claims.client_id !== clientId || claims.exp <= clock()) return;
    const isNew = await store.revokeAccessToken(claims.jti, claims.exp);
    onTokenRevoked?.(claims.jti);
    if (!isNew) return;
    events({
      type: 'token.revoked',
      clientId,
      ...(claims.grant_id !== undefined && { grantId: claims.grant_id }),
    });
  }
}
