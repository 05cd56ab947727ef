/** The chain: what this server gives never outlives or exceeds what it rests on at a third party, and is honoured only with it. */
import type { ProviderTokens } from '../federation/provider-tokens.ts';
import type { IsLive } from './is-live.ts';
import type { IssueAccessToken } from './issue.ts';

/** Asks the store first, which knows at once what has ended here. */
export function requireLiveProviderTokens(isLive: IsLive, bonds: ProviderTokens): IsLive {
  if (!bonds.inUse) return isLive;
  return async (claims) =>
    (await isLive(claims)) && (claims.grant_id === undefined || bonds.isAlive(claims.grant_id));
}

/** Grants judge everything before they take anything, and minting is part of the judgement: when the third party is away, nothing is spent. */
export function limitByProviderTokens(mint: IssueAccessToken, bonds: ProviderTokens): IssueAccessToken {
  if (!bonds.inUse) return mint;
  return async (holder, narrowed, now) => {
    if (holder.grantId === null) return mint(holder, narrowed, now);
    const { until, scopes } = await bonds.limitsOf(holder.grantId, narrowed.scopes);
    return mint({ ...holder, until: Math.min(holder.until, until) }, { ...narrowed, scopes }, now);
  };
}
