/** Renewing what a third party gave: by one at a time of all processes, and kept before anybody uses it. */
import { setTimeout as pause } from 'node:timers/promises';
import { OAuthError, unavailable } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { BondEnd, BondRecord, RenewedBond } from '../ports/index.ts';
import { newSecret } from '../secrets.ts';
import { readFault, type ThirdPartyFault } from './fault.ts';
import type { ThirdPartyTokens } from './tokens.ts';
import { type Given, timesOf } from './tokens.ts';
import type { Vault } from './vault.ts';
import type { Wire } from './wire.ts';

/** What became of a renewal. */
export type Renewal =
  | { readonly kind: 'renewed'; readonly bond: BondRecord }
  /** The third party has ended what it gave. */
  | { readonly kind: 'over'; readonly reason: BondEnd }
  /** It cannot be renewed now. Seconds after which to try again. */
  | { readonly kind: 'later'; readonly retryAfter: number; readonly reason: string };

/** Renews a bond, or waits for whoever does. */
export type Renew = (bond: BondRecord, wire: Wire) => Promise<Renewal>;

/** Seconds that a renewal is left alone beyond the longest exchange: whoever died in it is then followed by another. */
const LEASE_MARGIN = 10;
/** Seconds after which a third party that could not answer is asked again. */
const COOL_DOWN = 10;
/** Milliseconds between looks at what another process does. */
const LOOKS = { first: 20, most: 400 };
/** How often what was renewed is tried to be kept: nobody else has it. */
const KEEP_TRIES = 6;

export function createRenew({ store, clock, events, outbound }: Configuration, vault: Vault): Renew {
  /** Their document may have to be fetched first, and a key after. */
  const lease = Math.ceil((3 * outbound.timeout) / 1000) + LEASE_MARGIN;

  return async (bond, wire) => {
    const deadline = Date.now() + 2 * outbound.timeout;
    let current = bond;
    for (let look = LOOKS.first; ; look = Math.min(2 * look, LOOKS.most)) {
      const now = clock();
      const holder = newSecret();
      if (await store.leaseBond(current.grantId, current.version, holder, now, now + lease)) {
        return renewAs(holder, current, wire);
      }
      const seen = await store.findBond(current.grantId);
      if (seen === null) return { kind: 'over', reason: 'lapsed' };
      if (seen.endedAt !== null) return { kind: 'over', reason: seen.endReason ?? 'ended-here' };
      if (seen.version !== current.version) return { kind: 'renewed', bond: seen };
      const left = (seen.leaseUntil ?? now) - now;
      if (left > 0 && (seen.leaseHolder === null || Date.now() >= deadline)) {
        return { kind: 'later', retryAfter: left, reason: 'its last renewal did not succeed' };
      }
      current = seen;
      await pause(look);
    }
  };

  async function renewAs(holder: string, bond: BondRecord, wire: Wire): Promise<Renewal> {
    const { grantId, scopes, sealedTokens } = bond;
    if (sealedTokens === null) return { kind: 'over', reason: 'lapsed' };
    let given: Given;
    try {
      const tokens = await vault.unseal<ThirdPartyTokens>(sealedTokens, placeOf(grantId));
      given = await wire.renew(tokens, scopes);
    } catch (error) {
      return refuse(holder, bond, error);
    }
    // Point of no return: the old refresh token may be worth nothing now, and only we have the new one.
    return keep(holder, bond, given);
  }

  async function refuse(holder: string, bond: BondRecord, error: unknown): Promise<Renewal> {
    if (error instanceof OAuthError) {
      await store.releaseBond(bond.grantId, holder, null);
      throw error;
    }
    const fault = readFault(error);
    if (fault.kind === 'refused' && fault.code === 'invalid_grant') {
      // Whoever held the lease before never gave it back: a renewal was sent, and its answer lost.
      return { kind: 'over', reason: bond.leaseHolder === null ? 'revoked-there' : 'renewal-lost' };
    }
    note(bond, fault);
    const retryAfter = fault.isLost ? lease : (fault.retryAfter ?? COOL_DOWN);
    // A request whose answer was lost leaves its lease to run out, so that its successor knows of it.
    if (!fault.isLost) await store.releaseBond(bond.grantId, holder, clock() + retryAfter);
    return { kind: 'later', retryAfter, reason: fault.message };
  }

  async function keep(holder: string, bond: BondRecord, given: Given): Promise<Renewal> {
    const now = clock();
    const { envelope, dataKeyId } = await vault.seal(given.tokens, placeOf(bond.grantId));
    const renewed: RenewedBond = {
      sealedTokens: envelope,
      dataKeyId,
      scopes: given.scopes,
      checkedAt: now,
      ...timesOf(given, now),
    };
    if (!(await persist(() => store.renewBond(bond.grantId, holder, renewed)))) {
      return { kind: 'later', retryAfter: 1, reason: 'another process took the renewal over' };
    }
    events({
      type: 'bond.renewed',
      thirdParty: bond.thirdParty,
      grantId: bond.grantId,
      accountId: bond.accountId,
    });
    return {
      kind: 'renewed',
      bond: { ...bond, ...renewed, version: bond.version + 1, leaseHolder: null, leaseUntil: null },
    };
  }

  function note(bond: BondRecord, fault: ThirdPartyFault): void {
    events({
      type: 'third-party.failed',
      thirdParty: bond.thirdParty,
      grantId: bond.grantId,
      accountId: bond.accountId,
      reason: `renewal: ${fault.message}`,
    });
  }
}

/** The store may be away for a moment; what would be lost cannot be had again. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === KEEP_TRIES) throw unavailable(`what was renewed could not be kept: ${String(error)}`);
      await pause(50 * 2 ** tries);
    }
  }
}

/** Where the envelope of a bond's tokens belongs. */
export function placeOf(grantId: string): string {
  return `bond ${grantId}`;
}
