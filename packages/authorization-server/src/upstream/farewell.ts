/** Farewells: what ended here is revoked at the third party too, by whichever process comes to it, until it is done or hopeless. */
import { OAuthError } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { BondRecord } from '../ports/index.ts';
import { readFault } from './fault.ts';
import { placeOf } from './renewal.ts';
import type { ThirdParty } from './third-party.ts';
import type { ThirdPartyTokens } from './tokens.ts';
import type { Vault } from './vault.ts';
import type { Wire } from './wire.ts';

export interface Farewells {
  /** Looks soon, because something has ended. */
  nudge(): void;
  /** Ends what is under way and begins nothing more. */
  close(): Promise<void>;
}

/** Milliseconds between looks, and from a nudge to a look. */
const TIMES = { every: 5_000, soon: 20 };
/** Bonds at a time. */
const BATCH = 20;
/** Seconds that a process has for its batch before another may take it. */
const CLAIM = 120;
/** Seconds to the next try: each waits twice as long as the one before, to a day and a half in all. */
const RETRY = { first: 30, most: 6 * 3600, tries: 14 };
/** Seconds by which clocks of processes may differ. */
const SKEW = 300;
/** Milliseconds between looks after the keys of the vault. */
const TEND_EVERY = 3_600_000;

export function createFarewells(
  configuration: Configuration,
  vault: Vault,
  wireOf: (thirdParty: ThirdParty) => Wire,
): Farewells {
  const { store, clock, events, thirdParties } = configuration;
  let timer: NodeJS.Timeout | null = null;
  let underWay: Promise<void> | null = null;
  let isNudged = false;
  let isClosed = false;
  /** Grants that were revoked before have been looked at. */
  let lookedTo = 0;
  let tendedAt = 0;

  function schedule(delay: number): void {
    if (isClosed || underWay !== null) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      underWay = pass().finally(() => {
        underWay = null;
        schedule(isNudged ? TIMES.soon : TIMES.every);
        isNudged = false;
      });
    }, delay);
    timer.unref();
  }

  /** While the store is away there is nothing to do: everything is in it. */
  async function pass(): Promise<void> {
    try {
      await look();
      if (Date.now() - tendedAt >= TEND_EVERY) {
        await vault.tend();
        tendedAt = Date.now();
      }
    } catch (error) {
      if (!(error instanceof OAuthError)) {
        events({ type: 'request.failed', endpoint: 'farewells', reason: String(error) });
      }
    }
  }

  async function look(): Promise<void> {
    const now = clock();
    await store.endBondsOfRevokedGrants(lookedTo, now);
    lookedTo = now - SKEW;
    for (;;) {
      const claimed = await store.claimFarewells(clock(), clock() + CLAIM, BATCH);
      await Promise.all(claimed.map(part));
      if (claimed.length < BATCH || isClosed) return;
    }
  }

  /** Parts from one bond; whatever goes wrong is tried again, but not for ever. */
  async function part(bond: BondRecord): Promise<void> {
    const { grantId, accountId, farewells } = bond;
    const about = { thirdParty: bond.thirdParty, grantId, accountId };
    try {
      const outcome = await revoke(bond);
      await store.forgetBondTokens(grantId);
      events({ type: 'bond.parted', ...about, outcome });
    } catch (error) {
      const { message, retryAfter } = readFault(error);
      if (farewells >= RETRY.tries) {
        await store.forgetBondTokens(grantId);
        events({ type: 'bond.parted', ...about, outcome: 'given-up', reason: message });
        return;
      }
      const wait = Math.min(RETRY.most, RETRY.first * 2 ** (farewells - 1));
      await store.postponeFarewell(grantId, clock() + Math.max(wait, retryAfter ?? 0));
    }
  }

  async function revoke(bond: BondRecord): Promise<'revoked' | 'impossible' | 'shared' | 'nothing'> {
    const thirdParty = thirdParties.get(bond.thirdParty);
    if (bond.sealedTokens === null) return 'nothing';
    if (thirdParty === undefined) return 'impossible';
    // Where revoking one token ends everything of a person, it waits for the last. Client B keeps what it was granted.
    if (thirdParty.revocationEnds === 'everything') {
      const others = await store.countBondsWith(bond.issuer, bond.subject, bond.grantId);
      if (others > 0) return 'shared';
    }
    const tokens = await vault.unseal<ThirdPartyTokens>(bond.sealedTokens, placeOf(bond.grantId));
    return wireOf(thirdParty).revoke(tokens);
  }

  schedule(TIMES.soon);
  return {
    nudge() {
      isNudged = true;
      schedule(TIMES.soon);
    },
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await underWay;
    },
  };
}
