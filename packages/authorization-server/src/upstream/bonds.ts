/** Bonds: what grants rest on at third parties, known to be alive before anything that rests on them is honoured. */
import { intersectScopes, missingScopes, OAuthError, type Scopes, unavailable } from '@portcullis/protocol';
import { createFlights } from '../clients/remote/flights.ts';
import type { Configuration } from '../configuration.ts';
import type { BondEnd, BondRecord } from '../ports/index.ts';
import { lastsUntil, needOf } from './bond-law.ts';
import { readFault } from './fault.ts';
import { createMemory } from './memory.ts';
import { createRenew, placeOf, type Renewal } from './renewal.ts';
import { carriedScopes, type ThirdParty } from './third-party.ts';
import type { ThirdPartyTokens } from './tokens.ts';
import type { UpstreamTokens } from './upstream-token.ts';
import type { Vault } from './vault.ts';
import type { Wire } from './wire.ts';

/** What a grant rests on, known to be alive. */
interface Rest {
  /** `null`: on nothing but this server. */
  readonly bond: BondRecord | null;
  /** Epoch seconds until which it need not be looked at again. */
  readonly until: number;
}

export interface Bonds extends UpstreamTokens {
  /** `false`: no grant rests on a third party, and nothing has to be asked. */
  readonly inUse: boolean;
  /** Whether what a grant rests on is alive, as far as the third party has said within the bound. @throws OAuthError `temporarily_unavailable` */
  isAlive(grantId: string): Promise<boolean>;
  /**
   * What tokens of a grant may be: none of ours outlives or exceeds what it rests on.
   * @throws OAuthError `invalid_grant` when that has ended, `temporarily_unavailable` when nobody can say
   */
  boundsOf(grantId: string, scopes: Scopes): Promise<{ readonly until: number; readonly scopes: Scopes }>;
}

/** Seconds for which it is remembered that a grant rests on nothing: one never begins to. */
const UNBONDED_FOR = 600;
/** Seconds to wait for a third party that could not say whether its token is alive. */
const ASKED_AGAIN_AFTER = 5;
/** How often a bond is looked at anew because another process has changed it. */
const LOOKS = 4;

export function createBonds(
  configuration: Configuration,
  vault: Vault,
  wireOf: (thirdParty: ThirdParty) => Wire,
): Bonds {
  const { store, clock, events, thirdParties } = configuration;
  const renew = createRenew(configuration, vault);
  const flights = createFlights<Rest>();
  const renewals = createFlights<Renewal>();
  const memory = createMemory<Rest>();
  /** Until when, and why, a bond is not looked at again after the third party could not answer. */
  const away = createMemory<{ readonly until: number; readonly reason: string }>();

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
  async function settle(
    bond: BondRecord,
    thirdParty: ThirdParty,
  ): Promise<Rest | { readonly bond: BondRecord | null }> {
    const need = needOf(bond, clock(), thirdParty.noticedWithin);
    switch (need.do) {
      case 'honour':
        return { bond, until: need.until };
      case 'end':
        return end(bond, need.reason);
      case 'renew':
        return take(bond, await renewOnce(bond, thirdParty));
      case 'renew-ahead': {
        const renewal = await renewOnce(bond, thirdParty);
        // Their token still works: what counts is whether it is alive.
        return renewal.kind === 'later' ? honourOrAsk(bond, thirdParty) : take(bond, renewal);
      }
      case 'ask':
        return ask(bond, thirdParty);
    }
  }

  async function honourOrAsk(
    bond: BondRecord,
    thirdParty: ThirdParty,
  ): Promise<Rest | { readonly bond: BondRecord | null }> {
    const need = needOf({ ...bond, renewFrom: null }, clock(), thirdParty.noticedWithin);
    if (need.do === 'honour') return { bond, until: Math.min(need.until, clock() + ASKED_AGAIN_AFTER) };
    return ask(bond, thirdParty);
  }

  function renewOnce(bond: BondRecord, thirdParty: ThirdParty): Promise<Renewal> {
    const waiting = away.get(bond.grantId);
    const left = (waiting?.until ?? 0) - clock();
    if (waiting !== undefined && left > 0) {
      return Promise.resolve({ kind: 'later', retryAfter: left, reason: waiting.reason });
    }
    return renewals.join(bond.grantId, async () => {
      const renewal = await renew(bond, wireOf(thirdParty));
      if (renewal.kind === 'later') {
        away.set(bond.grantId, { until: clock() + renewal.retryAfter, reason: renewal.reason });
      }
      return renewal;
    });
  }

  async function take(bond: BondRecord, renewal: Renewal): Promise<{ readonly bond: BondRecord | null }> {
    if (renewal.kind === 'renewed') return { bond: renewal.bond };
    if (renewal.kind === 'over') return end(bond, renewal.reason);
    throw unavailable(`${bond.thirdParty}: ${renewal.reason}`, renewal.retryAfter);
  }

  async function ask(
    bond: BondRecord,
    thirdParty: ThirdParty,
  ): Promise<Rest | { readonly bond: BondRecord | null }> {
    const at = clock();
    const waiting = away.get(bond.grantId);
    if (waiting !== undefined && at < waiting.until) {
      throw unavailable(`${bond.thirdParty}: ${waiting.reason}`, waiting.until - at);
    }
    const answer = await inquire(bond, thirdParty);
    if (answer === 'changed') return end(bond, 'changed-there');
    if (answer === 'dead') {
      // A refresh token may outlive what it renews: the third party decides when it is presented.
      return bond.isRenewable ? take(bond, await renewOnce(bond, thirdParty)) : end(bond, 'revoked-there');
    }
    await store.noteBondAlive(bond.grantId, at);
    const alive = { ...bond, checkedAt: Math.max(at, bond.checkedAt) };
    const need = needOf({ ...alive, renewFrom: null }, at, thirdParty.noticedWithin);
    return need.do === 'honour' ? { bond: alive, until: need.until } : { bond: alive };
  }

  async function inquire(bond: BondRecord, thirdParty: ThirdParty) {
    if (bond.sealedTokens === null) return 'dead';
    const tokens = await vault.unseal<ThirdPartyTokens>(bond.sealedTokens, placeOf(bond.grantId));
    try {
      return await wireOf(thirdParty).ask(tokens, bond.subject);
    } catch (error) {
      const fault = readFault(error);
      const retryAfter = fault.retryAfter ?? ASKED_AGAIN_AFTER;
      const reason = `status: ${fault.message}`;
      away.set(bond.grantId, { until: clock() + retryAfter, reason });
      const { grantId, accountId } = bond;
      events({ type: 'third-party.failed', thirdParty: thirdParty.id, grantId, accountId, reason });
      throw unavailable(`${thirdParty.id}: ${reason}`, retryAfter);
    }
  }

  /** Ends a bond; answers it anew when another process has changed it meanwhile. */
  async function end(bond: BondRecord, reason: BondEnd): Promise<{ readonly bond: BondRecord | null }> {
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

  const standing = (grantId: string): Promise<Rest> =>
    rest(grantId).catch((error: unknown) => {
      if (error instanceof Over) throw over(error.message);
      throw error;
    });

  return {
    inUse: true,

    async isAlive(grantId) {
      try {
        await rest(grantId);
        return true;
      } catch (error) {
        if (error instanceof Over) return false;
        throw error;
      }
    },

    async boundsOf(grantId, scopes) {
      const { bond } = await standing(grantId);
      const thirdParty = thirdParties.get(bond?.thirdParty ?? '');
      if (bond === null || thirdParty === undefined) return { until: Number.MAX_SAFE_INTEGER, scopes };
      const carried = carriedScopes(thirdParty, scopes, bond.scopes);
      if (carried.length === 0 && scopes.length > 0) {
        throw new OAuthError(
          'invalid_scope',
          'The third party does not grant any more what these scopes need.',
          {
            reason: `${thirdParty.id} grants less than it did`,
          },
        );
      }
      return { until: lastsUntil(bond), scopes: intersectScopes(scopes, carried) };
    },

    async tokenFor(grantId, want = {}) {
      const { bond: known } = await standing(grantId);
      if (known === null) throw noThirdParty('the grant rests on none');
      if (want.thirdParty !== undefined && want.thirdParty !== known.thirdParty) {
        throw noThirdParty(`the grant rests on ${known.thirdParty}`);
      }
      // As it is kept now, not as it is remembered: a renewal elsewhere may have made the remembered token worthless.
      const [bond, isStanding] = await Promise.all([
        store.findBond(grantId),
        store.isAccessTokenLive('', grantId),
      ]);
      if (!isStanding || bond === null || bond.endedAt !== null || bond.sealedTokens === null) {
        throw over('its grant has ended');
      }
      if (missingScopes(want.scopes ?? [], bond.scopes).length > 0) {
        throw new OAuthError('invalid_scope', 'The person has not granted these scopes at the third party.');
      }
      const { accessToken, tokenType } = await vault.unseal<ThirdPartyTokens>(
        bond.sealedTokens,
        placeOf(grantId),
      );
      const { expiresAt, scopes, thirdParty } = bond;
      return { accessToken, tokenType, expiresAt, scopes, thirdParty };
    },
  };
}

/** A bond that has ended. */
class Over extends Error {
  override readonly name: string = 'Over';
}

function over(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'What this access rested on at a third party has ended. Start a new authorization request.',
    { reason: `bond: ${reason}` },
  );
}

export function noThirdParty(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'This access does not rest on that third party.', {
    reason: `bond: ${reason}`,
  });
}
