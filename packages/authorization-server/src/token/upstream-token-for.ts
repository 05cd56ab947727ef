/** From verified claims to the third party's token that their grant rests on: for protected servers, here and elsewhere. */

import { type AccessTokenClaims, OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type {
  ProviderToken,
  ProviderTokenRequest,
  ProviderTokenSource,
} from '../federation/provider-token.ts';
import { createLruCache } from '../lru-cache.ts';
import type { IsLive } from './is-live.ts';

/**
 * @param claims of a verified access token
 * @throws OAuthError `invalid_grant` when token or grant have ended, and as `UpstreamTokens.tokenFor`
 */
export type GetProviderToken = (
  claims: AccessTokenClaims,
  want?: ProviderTokenRequest,
) => Promise<ProviderToken>;

/** Seconds: a server that asks at each of its requests is told of once in a while. */
const TOLD_EVERY = 60;

export function createGetProviderToken(
  { clock, events, options: { issuer } }: Pick<ServerContext, 'clock' | 'events' | 'options'>,
  isLive: IsLive,
  upstream: ProviderTokenSource,
): GetProviderToken {
  const told = createLruCache<number>();

  function tell(
    { aud, sub, client_id: clientId }: AccessTokenClaims,
    grantId: string,
    token: ProviderToken,
  ): void {
    const [resource = ''] = typeof aud === 'string' ? [aud] : aud;
    const key = `${grantId} ${resource}`;
    const now = clock();
    if (now < (told.get(key) ?? 0) + TOLD_EVERY) return;
    told.set(key, now);
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

  return async (claims, want = {}) => {
    // Somebody else's claims may name any grant.
    if (claims.iss !== issuer) throw unbonded('the token is of another issuer');
    const { grant_id: grantId } = claims;
    if (grantId === undefined) throw unbonded('the token is of an application');
    if (!(await isLive(claims))) {
      throw new OAuthError('invalid_grant', 'The access token is no longer valid.', { reason: 'revoked' });
    }
    const token = await upstream.tokenFor(grantId, want);
    tell(claims, grantId, token);
    return token;
  };
}

function unbonded(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'The grant rests on no third party.', { reason });
}
