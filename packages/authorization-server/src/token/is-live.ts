/** Checks whether a verified access token is still live: not revoked, nor its grant, its provider tokens, or a client that acts for itself. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ProviderTokens } from '../federation/provider-tokens.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { readUserClaims } from '../users/user-claims.ts';
import { isAhead } from '../wrong-clock.ts';
import type { TokenContext } from './options.ts';

/**
 * @param claims of a verified token
 * @param isIntrospected whether a protected server requests it, for the audit log
 */
export type IsLive = (claims: Claims, isIntrospected?: boolean) => Promise<boolean>;

type Claims = Pick<AccessTokenClaims, 'jti' | 'iat' | 'client_id' | 'grant_id' | 'sub' | 'groups' | 'act'>;

export function createIsLive({
  store,
  clock,
  options: { clients },
}: Pick<TokenContext, 'store' | 'clock' | 'options'>): IsLive {
  return async ({ jti, iat, client_id: clientId, grant_id: grantId, act }) => {
    if (!(await store.isAccessTokenLive(jti, grantId ?? null))) return false;
    // After token exchange, the grant is of another client, which lives on without this one.
    const isExchanged = act !== undefined && act.iss === undefined && act.sub === clientId;
    return (
      (grantId !== undefined && !isExchanged) ||
      clients.has(clientId) ||
      (await isStoredClientLive(clientId, iat))
    );
  };

  /**
   * A token without a grant of its client ends with its client; neither enabling it nor a later client of the same id brings it back.
   * Of a clock that was ahead it is not known when it issued a token.
   */
  async function isStoredClientLive(clientId: string, issuedAt: number): Promise<boolean> {
    const client = await store.findClient(clientId);
    return (
      client !== null &&
      client.disabledAt === null &&
      (client.enabledAt ?? client.createdAt) <= issuedAt &&
      !isAhead(issuedAt, clock())
    );
  }
}

/**
 * Also requires that the user is still in the groups of the token: a new token has those of today. Nothing is read for tokens
 * without groups.
 */
export function requireCurrentGroups(
  isLive: IsLive,
  {
    store,
    options: { servesUsers },
  }: Pick<ServerContext<{ readonly servesUsers: boolean }>, 'store' | 'options'>,
): IsLive {
  if (!servesUsers) return isLive;
  async function areCurrent(sub: string, groups: readonly string[]): Promise<boolean> {
    const { groups: current = [] } = await readUserClaims(store, sub, ['groups']);
    return groups.every((group) => current.includes(group));
  }
  return (claims) => {
    const { sub, groups = [], grant_id: grantId } = claims;
    if (grantId === undefined || groups.length === 0) return isLive(claims);
    return isLive(claims).then((live) => live && areCurrent(sub, groups));
  };
}

/** Also requires live provider tokens. Queries the store first, which has revocations of this server at once. */
export function requireLiveProviderTokens(isLive: IsLive, providerTokens: ProviderTokens): IsLive {
  if (!providerTokens.inUse) return isLive;
  return async (claims) =>
    (await isLive(claims)) && (claims.grant_id === undefined || providerTokens.isAlive(claims.grant_id));
}

/** For guards, which cache what they verified: also requires that the key that verified the token, if they name it, is still published. */
export function requirePublishedKey(
  isLive: IsLive,
  keys: KeyRing,
): (claims: Claims, keyId?: string) => Promise<boolean> {
  const check = (claims: Claims, keyId: string) =>
    keys.publishes(keyId) ? isLive(claims) : Promise.resolve(false);
  return (claims, keyId) => {
    if (keyId === undefined) return isLive(claims);
    const refreshing = keys.refresh();
    return refreshing === null ? check(claims, keyId) : refreshing.then(() => check(claims, keyId));
  };
}
