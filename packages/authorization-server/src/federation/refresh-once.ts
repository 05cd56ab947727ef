/** Renewing what a third party gave: by one at a time of all processes, while the others wait for what becomes of it. */

import { setTimeout as pause } from 'node:timers/promises';
import type { ServerContext } from '../context.ts';
import { newSecret } from '../secrets.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import type { ProviderClient } from './provider-client.ts';
import { createRefreshWithLease, type ProviderTokenRefresh } from './refresh-with-lease.ts';
import type { TokenVault } from './token-vault.ts';

/** Renews a bond, or waits for whoever does. */
export type RefreshOnce = (bond: ProviderTokensRecord, wire: ProviderClient) => Promise<ProviderTokenRefresh>;

/** Seconds that a renewal is left alone beyond the longest exchange: whoever died in it is then followed by another. */
const LEASE_MARGIN = 10;
/** Milliseconds between looks at what another process does. */
const LOOKS = { first: 20, most: 400 };

export function createRefreshOnce(context: ServerContext, vault: TokenVault): RefreshOnce {
  const {
    store,
    clock,
    options: { outbound },
  } = context;
  /** Their document may have to be fetched first, and a key after. */
  const lease = Math.ceil((3 * outbound.timeout) / 1000) + LEASE_MARGIN;
  const renewAs = createRefreshWithLease(context, vault, lease);

  return async (bond, wire) => {
    const deadline = Date.now() + 2 * outbound.timeout;
    let current = bond;
    for (let look = LOOKS.first; ; look = Math.min(2 * look, LOOKS.most)) {
      const now = clock();
      const holder = newSecret();
      if (await store.leaseProviderTokens(current.grantId, current.version, holder, now, now + lease)) {
        return renewAs(holder, current, wire);
      }
      const seen = await store.findProviderTokens(current.grantId);
      if (seen === null) return { kind: 'over', reason: 'grant_expired' };
      if (seen.endedAt !== null) return { kind: 'over', reason: seen.endReason ?? 'revoked_here' };
      if (seen.version !== current.version) return { kind: 'renewed', bond: seen };
      const left = (seen.leaseUntil ?? now) - now;
      if (left > 0 && (seen.leaseHolder === null || Date.now() >= deadline)) {
        return { kind: 'later', retryAfter: left, reason: 'its last renewal did not succeed' };
      }
      current = seen;
      await pause(look);
    }
  };
}
