/** Returns the provider token behind a verified access token, for protected resources in this process and elsewhere. */
import { type AccessTokenClaims, createLruCache, OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ProviderToken, ProviderTokenRequest, ProviderTokens } from '../federation/provider-tokens.ts';
import { isAhead } from '../wrong-clock.ts';
import type { IsLive } from './is-live.ts';

/**
 * @param claims of a verified access token
 * @throws OAuthError `invalid_grant` if the token or its grant has ended, and as `ProviderTokens.tokenFor`
 */
export type GetProviderToken = (
  claims: AccessTokenClaims,
  request?: ProviderTokenRequest,
) => Promise<ProviderToken>;

/** Seconds between audit events of one grant and resource: a server may fetch the token for each of its requests. */
const RECORD_EVERY = 60;

export function createGetProviderToken(
  { clock, events, options: { issuer } }: ServerContext,
  isLive: IsLive,
  source: Pick<ProviderTokens, 'tokenFor'>,
): GetProviderToken {
  const recordedAt = createLruCache<number>();

  function record(
    { aud, sub, client_id: clientId }: AccessTokenClaims,
    grantId: string,
    token: ProviderToken,
  ): void {
    const [resource = ''] = typeof aud === 'string' ? [aud] : aud;
    const key = `${grantId} ${resource}`;
    const now = clock();
    const last = recordedAt.get(key) ?? 0;
    if (now < last + RECORD_EVERY && !isAhead(last, now)) return;
    recordedAt.set(key, now);
    const { identityProvider, scopes } = token;
    events({
      type: 'provider_token.released',
      clientId,
      accountId: sub,
      grantId,
      resource,
      identityProvider,
      scopes,
    });
  }

  return async (claims, request = {}) => {
    // Claims of another issuer may name any grant.
    if (claims.iss !== issuer) throw noProviderToken('token of another issuer');
    const { grant_id: grantId } = claims;
    if (grantId === undefined) throw noProviderToken('token without a user');
    if (!(await isLive(claims))) {
      throw new OAuthError('invalid_grant', 'The access token is no longer valid.', { reason: 'revoked' });
    }
    const token = await source.tokenFor(grantId, request);
    record(claims, grantId, token);
    return token;
  };
}

function noProviderToken(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'The grant has no provider token.', { reason });
}
