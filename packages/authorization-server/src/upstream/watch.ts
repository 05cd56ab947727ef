/** Watching bonds: what grants rest on at third parties is known to be alive, or renewed, or ended. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { createFlights } from '../clients/remote/flights.ts';
import type { Configuration } from '../configuration.ts';
import { createMemory } from '../memory.ts';
import { createSettlement, Over, type Rest } from './settle.ts';
import type { IdentityProvider } from './third-party.ts';
import type { Vault } from './vault.ts';
import type { Wire } from './wire.ts';

export interface Watch {
  /** Answers what a grant rests on. @throws Over, or OAuthError `temporarily_unavailable` when nobody can say */
  look(grantId: string): Promise<Rest>;
  /** Resolves when no renewal is under way: an answer that nobody waits for is lost. */
  settled(): Promise<void>;
}

/** Seconds for which it is remembered that a grant rests on nothing: one never begins to. */
const UNBONDED_FOR = 600;
/** How often a bond is looked at anew because another process has changed it. */
const LOOKS = 4;

export function createWatch(
  configuration: Configuration,
  vault: Vault,
  wireOf: (identityProvider: IdentityProvider) => Wire,
): Watch {
  const { store, clock, identityProviders } = configuration;
  const { settle, settled } = createSettlement(configuration, vault, wireOf);
  const flights = createFlights<Rest>();
  const memory = createMemory<Rest>();

  async function rest(grantId: string): Promise<Rest> {
    const known = memory.get(grantId);
    if (known !== undefined && clock() < known.until) return known;
    return flights.join(grantId, async () => {
      const found = await look(grantId);
      memory.set(grantId, found);
      return found;
    });
  }

  /** @throws Over or OAuthError `temporarily_unavailable` */
  async function look(grantId: string): Promise<Rest> {
    let bond = await store.findProviderTokens(grantId);
    for (let looks = 0; looks < LOOKS; looks += 1) {
      if (bond === null) return { bond, until: clock() + UNBONDED_FOR };
      const identityProvider = identityProviders.get(bond.identityProvider);
      // What is trusted no more is honoured no more. Nothing ends: the operator may have made a mistake.
      if (identityProvider === undefined) throw new Over('its third party is not configured any more');
      const next = await settle(bond, identityProvider);
      if ('until' in next) return next;
      bond = next.bond;
    }
    throw temporarilyUnavailable(`bond ${grantId}: it changes all the time`);
  }

  return { look: rest, settled };
}
