/** Minting access tokens, and the answer that carries one. */
import { accessTokenClaims, type TokenResponse } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { AccessTokenFormat } from '../keys/access-token-format.ts';
import { newIdentifier } from '../secrets.ts';
import type { Statuses } from '../status-lists/status-lists.ts';
import type { DownscopedAccess } from './downscope.ts';

/** Whom a token is for, and what it rests on. */
interface TokenSubject {
  readonly subject: string;
  readonly clientId: string;
  /** `null` when a client acts for itself. */
  readonly grantId: string | null;
  readonly workspace: string | null;
  /** Epoch seconds after which no token may live. */
  readonly until: number;
}

/** Makes an access token and its answer, without a refresh token. */
export type IssueAccessToken = (
  holder: TokenSubject,
  narrowed: DownscopedAccess,
  now: number,
) => Promise<TokenResponse>;

/** `scope` is always told, because it MUST be when it is not what was asked for. @see OAuth 2.1 draft 13 §3.2.3 */
export function createIssueAccessToken(
  { issuer, lifetimes, resources }: Configuration,
  { sign, encrypt: seal }: AccessTokenFormat,
  { nameToken }: Pick<Statuses, 'nameToken'>,
): IssueAccessToken {
  const opaque = new Set(
    [...resources.values()]
      .filter(({ accessTokens }) => accessTokens === 'opaque')
      .map(({ resource }) => resource),
  );
  return async ({ subject, clientId, grantId, workspace, until }, { resource, scopes }, now) => {
    const lifetime = Math.min(lifetimes.accessToken, until - now);
    const isOpaque = opaque.has(resource);
    // Who asks about each token needs no list of those that have ended.
    const named = nameToken === null || isOpaque ? null : await nameToken({ grantId, clientId }, now);
    const claims = accessTokenClaims({
      issuer,
      subject,
      clientId,
      resource,
      scopes,
      grantId,
      workspace,
      lifetime,
      issuedAt: now,
      tokenId: named?.tokenId ?? newIdentifier('token'),
      status: named?.status ?? null,
    });
    return {
      access_token: isOpaque ? seal(claims) : await sign(claims),
      token_type: 'Bearer',
      expires_in: lifetime,
      ...(claims.scope !== undefined && { scope: claims.scope }),
    };
  };
}
