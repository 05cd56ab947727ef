/** The chain: what this server gives never outlives or exceeds what it rests on at a third party, and is honoured only with it. */
import type { Bonds } from '../upstream/bonds.ts';
import type { IsLive } from './is-live.ts';
import type { Mint } from './mint.ts';

/** Asks the store first, which knows at once what has ended here. */
export function chainLiveness(isLive: IsLive, bonds: Bonds): IsLive {
  if (!bonds.inUse) return isLive;
  return async (claims) =>
    (await isLive(claims)) && (claims.grant_id === undefined || bonds.isAlive(claims.grant_id));
}

/** Grants judge everything before they take anything, and minting is part of the judgement: when the third party is away, nothing is spent. */
export function chainMint(mint: Mint, bonds: Bonds): Mint {
  if (!bonds.inUse) return mint;
  return async (holder, narrowed, now) => {
    if (holder.grantId === null) return mint(holder, narrowed, now);
    const { until, scopes } = await bonds.boundsOf(holder.grantId, narrowed.scopes);
    return mint({ ...holder, until: Math.min(holder.until, until) }, { ...narrowed, scopes }, now);
  };
}
