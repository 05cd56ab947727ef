/** One renewal for all who want it: a bond is renewed once at a time, and not again while its third party cannot. */

import type { ServerContext } from '../context.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { createBackoff } from './backoff.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { ProviderClient } from './provider-client.ts';
import { createRefreshOnce } from './refresh-once.ts';
import type { ProviderTokenRefresh } from './refresh-with-lease.ts';
import type { TokenVault } from './token-vault.ts';

export interface ProviderTokenRefresher {
  /** Renews a bond, or waits for the renewal that is under way. */
  refresh(bond: ProviderTokensRecord, identityProvider: IdentityProvider): Promise<ProviderTokenRefresh>;
  /** Resolves when none is under way: an answer that nobody waits for is lost. */
  whenIdle(): Promise<void>;
}

export function createProviderTokenRefresher(
  context: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): ProviderTokenRefresher {
  const renew = createRefreshOnce(context, vault);
  const singleFlight = createSingleFlight<ProviderTokenRefresh>();
  const underWay = new Set<Promise<ProviderTokenRefresh>>();
  const waits = createBackoff(context.clock);
  return {
    async refresh(bond, identityProvider) {
      const waiting = waits.remaining(bond.grantId);
      if (waiting !== null) return { kind: 'later', ...waiting };
      return singleFlight.run(bond.grantId, async () => {
        const work = renew(bond, wireOf(identityProvider));
        underWay.add(work);
        const renewal = await work.finally(() => underWay.delete(work));
        if (renewal.kind === 'later') waits.start(bond.grantId, renewal);
        return renewal;
      });
    },
    async whenIdle() {
      await Promise.allSettled(underWay);
    },
  };
}
