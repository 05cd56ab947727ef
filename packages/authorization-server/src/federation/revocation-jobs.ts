/** Farewells: what ended here is revoked at the third party too, by whichever process comes to it, until it is done or hopeless. */

import { OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { ProviderClient } from './provider-client.ts';
import { createRevokeAtProvider } from './revoke-at-provider.ts';
import type { TokenVault } from './token-vault.ts';

export interface RevocationJobs {
  /** Looks soon, because something has ended. */
  runSoon(): void;
  /** Ends what is under way and begins nothing more. */
  close(): Promise<void>;
}

/** Milliseconds between looks, and from a nudge to a look. */
const TIMES = { every: 5_000, soon: 20 };
/** Bonds at a time. */
const BATCH = 20;
/** Seconds that a process has for its batch before another may take it. */
const CLAIM = 120;
/** Seconds by which clocks of processes may differ. */
const SKEW = 300;
/** Milliseconds between looks after the keys of the vault. */
const TEND_EVERY = 3_600_000;

export function createRevocationJobs(
  context: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): RevocationJobs {
  const { store, clock, events } = context;
  const part = createRevokeAtProvider(context, vault, wireOf);
  /** Grants that were revoked before have been looked at. */
  let lookedTo = 0;
  let tendedAt = 0;

  /** While the store is away there is nothing to do: everything is in it. */
  async function pass(isClosed: () => boolean): Promise<void> {
    try {
      await look(isClosed);
      await tend();
    } catch (error) {
      if (!(error instanceof OAuthError)) {
        events({ type: 'request.failed', endpoint: 'farewells', reason: String(error) });
      }
    }
  }

  async function look(isClosed: () => boolean): Promise<void> {
    const now = clock();
    await store.endProviderTokensOfRevokedGrants(lookedTo, now);
    lookedTo = now - SKEW;
    for (;;) {
      const claimed = await store.claimRevocationJobs(clock(), clock() + CLAIM, BATCH);
      await Promise.all(claimed.map(part));
      if (claimed.length < BATCH || isClosed()) return;
    }
  }

  async function tend(): Promise<void> {
    if (Date.now() - tendedAt < TEND_EVERY) return;
    await vault.rotateDataKeys();
    tendedAt = Date.now();
  }

  return createRounds(pass);
}

/** Goes round by itself, now and then and soon after a nudge, once at a time. */
function createRounds(pass: (isClosed: () => boolean) => Promise<void>): RevocationJobs {
  let timer: NodeJS.Timeout | null = null;
  let underWay: Promise<void> | null = null;
  let isNudged = false;
  let isClosed = false;

  function schedule(delay: number): void {
    if (isClosed || underWay !== null) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      underWay = pass(() => isClosed).finally(() => {
        underWay = null;
        schedule(isNudged ? TIMES.soon : TIMES.every);
        isNudged = false;
      });
    }, delay);
    timer.unref();
  }

  schedule(TIMES.soon);
  return {
    runSoon() {
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
