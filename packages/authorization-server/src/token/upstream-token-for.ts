/** From verified claims to the third party's token that their grant rests on: for protected servers, here and elsewhere. */
import { type AccessTokenClaims, OAuthError } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { UpstreamToken, UpstreamTokens, UpstreamWant } from '../upstream/upstream-token.ts';
import type { IsLive } from './is-live.ts';

/**
 * @param claims of a verified access token
 * @throws OAuthError `invalid_grant` when token or grant have ended, and as `UpstreamTokens.tokenFor`
 */
export type UpstreamTokenFor = (claims: AccessTokenClaims, want?: UpstreamWant) => Promise<UpstreamToken>;

export function createUpstreamTokenFor(
  { issuer, events }: Pick<Configuration, 'issuer' | 'events'>,
  isLive: IsLive,
  upstream: UpstreamTokens,
): UpstreamTokenFor {
  return async (claims, want = {}) => {
    // Somebody else's claims may name any grant.
    if (claims.iss !== issuer) throw unbonded('the token is of another issuer');
    const { grant_id: grantId, sub: accountId, client_id: clientId, aud } = claims;
    if (grantId === undefined) throw unbonded('the token is of an application');
    if (!(await isLive(claims))) {
      throw new OAuthError('invalid_grant', 'The access token is no longer valid.', { reason: 'revoked' });
    }
    const token = await upstream.tokenFor(grantId, want);
    const { thirdParty, scopes } = token;
    const [resource] = typeof aud === 'string' ? [aud] : aud;
    const about = { clientId, accountId, grantId, ...(resource !== undefined && { resource }) };
    events({ type: 'upstream.token-given', ...about, thirdParty, scopes });
    return token;
  };
}

function unbonded(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'The grant rests on no third party.', { reason });
}
