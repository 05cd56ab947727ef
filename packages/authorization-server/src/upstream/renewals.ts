/** One renewal for all who want it: a bond is renewed once at a time, and not again while its third party cannot. */
import { createFlights } from '../clients/remote/flights.ts';
import type { Configuration } from '../configuration.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import type { Renewal } from './renew-as.ts';
import { createRenew } from './renewal.ts';
import type { IdentityProvider } from './third-party.ts';
import type { Vault } from './vault.ts';
import { createWaits } from './waits.ts';
import type { Wire } from './wire.ts';

export interface Renewals {
  /** Renews a bond, or waits for the renewal that is under way. */
  renew(bond: ProviderTokensRecord, identityProvider: IdentityProvider): Promise<Renewal>;
  /** Resolves when none is under way: an answer that nobody waits for is lost. */
  settled(): Promise<void>;
}

export function createRenewals(
  configuration: Configuration,
  vault: Vault,
  wireOf: (identityProvider: IdentityProvider) => Wire,
): Renewals {
  const renew = createRenew(configuration, vault);
  const flights = createFlights<Renewal>();
  const underWay = new Set<Promise<Renewal>>();
  const waits = createWaits(configuration.clock);
  return {
    async renew(bond, identityProvider) {
      const waiting = waits.left(bond.grantId);
      if (waiting !== null) return { kind: 'later', ...waiting };
      return flights.join(bond.grantId, async () => {
        const work = renew(bond, wireOf(identityProvider));
        underWay.add(work);
        const renewal = await work.finally(() => underWay.delete(work));
        if (renewal.kind === 'later') waits.begin(bond.grantId, renewal);
        return renewal;
      });
    },
    async settled() {
      await Promise.allSettled(underWay);
    },
  };
}
