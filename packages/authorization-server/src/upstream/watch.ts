/** Watching bonds: what grants rest on at third parties is known to be alive, or renewed, or ended. */
import { unavailable } from '@portcullis/protocol';
import { createFlights } from '../clients/remote/flights.ts';
import type { Configuration } from '../configuration.ts';
import type { BondEnd, BondRecord } from '../ports/index.ts';
import { needOf } from './bond-law.ts';
import { ASKED_AGAIN_AFTER, createInquire } from './inquiry.ts';
import { createMemory } from './memory.ts';
import type { Renewal } from './renewal.ts';
import { createRenewals } from './renewals.ts';
import type { ThirdParty } from './third-party.ts';
import type { Vault } from './vault.ts';
import type { Wire } from './wire.ts';

/** What a grant rests on, known to be alive. */
interface Rest {
  /** `null`: on nothing but this server. */
  readonly bond: BondRecord | null;
  /** Epoch seconds until which it need not be looked at again. */
  readonly until: number;
}

/** A bond that is another than it was: it has to be judged anew. */
interface Changed {
  readonly bond: BondRecord | null;
}

/** A bond that has ended. */
export class Over extends Error {
  override readonly name: string = 'Over';
}

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
  wireOf: (thirdParty: ThirdParty) => Wire,
): Watch {
  const { store, clock, events, thirdParties } = configuration;
  const inquire = createInquire(configuration, vault, wireOf);
  const renewals = createRenewals(configuration, vault, wireOf);
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
    let bond = await store.findBond(grantId);
    for (let looks = 0; looks < LOOKS; looks += 1) {
      if (bond === null) return { bond, until: clock() + UNBONDED_FOR };
      const thirdParty = thirdParties.get(bond.thirdParty);
      // What is trusted no more is honoured no more. Nothing ends: the operator may have made a mistake.
      if (thirdParty === undefined) throw new Over('its third party is not configured any more');
      const next = await settle(bond, thirdParty);
      if ('until' in next) return next;
      bond = next.bond;
    }
    throw unavailable(`bond ${grantId}: it changes all the time`);
  }

  /** Does what the bond needs; answers that it is alive, or the bond as it is now. */
  async function settle(bond: BondRecord, thirdParty: ThirdParty): Promise<Rest | Changed> {
    const need = needOf(bond, clock(), thirdParty.noticedWithin);
    switch (need.do) {
      case 'honour':
        return { bond, until: need.until };
      case 'end':
        return end(bond, need.reason);
      case 'renew':
        return take(bond, await renewals.renew(bond, thirdParty));
      case 'renew-ahead': {
        const renewal = await renewals.renew(bond, thirdParty);
        // Their token still works: what counts is whether it is alive.
        return renewal.kind === 'later' ? honourOrAsk(bond, thirdParty) : take(bond, renewal);
      }
      case 'ask':
        return ask(bond, thirdParty);
    }
  }

  async function honourOrAsk(bond: BondRecord, thirdParty: ThirdParty): Promise<Rest | Changed> {
    const need = needOf({ ...bond, renewFrom: null }, clock(), thirdParty.noticedWithin);
    if (need.do === 'honour') return { bond, until: Math.min(need.until, clock() + ASKED_AGAIN_AFTER) };
    return ask(bond, thirdParty);
  }

  async function take(bond: BondRecord, renewal: Renewal): Promise<Changed> {
    if (renewal.kind === 'renewed') return { bond: renewal.bond };
    if (renewal.kind === 'over') return end(bond, renewal.reason);
    throw unavailable(`${bond.thirdParty}: ${renewal.reason}`, renewal.retryAfter);
  }

  async function ask(bond: BondRecord, thirdParty: ThirdParty): Promise<Rest | Changed> {
    const at = clock();
    const answer = await inquire(bond, thirdParty);
    if (answer === 'changed') return end(bond, 'changed-there');
    if (answer === 'dead') {
      // A refresh token may outlive what it renews: the third party decides when it is presented.
      return bond.isRenewable
        ? take(bond, await renewals.renew(bond, thirdParty))
        : end(bond, 'revoked-there');
    }
    if (answer === 'alive') await store.noteBondAlive(bond.grantId, at);
    const alive = { ...bond, checkedAt: Math.max(at, bond.checkedAt) };
    const need = needOf({ ...alive, renewFrom: null }, at, thirdParty.noticedWithin);
    return need.do === 'honour' ? { bond: alive, until: need.until } : { bond: alive };
  }

  /** Ends a bond; answers it anew when another process has changed it meanwhile. */
  async function end(bond: BondRecord, reason: BondEnd): Promise<Changed> {
    const { grantId, accountId, version } = bond;
    // Point of no return: the grant and its tokens are dead.
    if (bond.endedAt === null && (await store.endBond(grantId, version, reason, clock()))) {
      events({ type: 'bond.ended', thirdParty: bond.thirdParty, grantId, accountId, reason });
      throw new Over(reason);
    }
    const now = await store.findBond(grantId);
    if (now === null || now.endedAt !== null) throw new Over(reason);
    return { bond: now };
  }

  return { look: rest, settled: renewals.settled };
}
