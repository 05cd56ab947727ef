/** Watching bonds: what grants rest on at third parties is known to be alive, or renewed, or ended. */

import { temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createLruCache } from '../lru-cache.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { IdentityProvider } from './identity-provider.ts';
import {
  createLivenessActions,
  type LiveProviderTokens,
  ProviderTokensEndedError,
} from './liveness-actions.ts';
import type { ProviderClient } from './provider-client.ts';
import type { TokenVault } from './token-vault.ts';

export interface ProviderTokenLiveness {
  /** Answers what a grant rests on. @throws Over, or OAuthError `temporarily_unavailable` when nobody can say */
  check(grantId: string): Promise<LiveProviderTokens>;
  /** Resolves when no renewal is under way: an answer that nobody waits for is lost. */
  whenIdle(): Promise<void>;
}

/** Seconds for which it is remembered that a grant rests on nothing: one never begins to. */
const UNBONDED_FOR = 600;
/** How often a bond is looked at anew because another process has changed it. */
const LOOKS = 4;

export function createProviderTokenLiveness(
  context: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): ProviderTokenLiveness {
  const {
    store,
    clock,
    options: { identityProviders },
  } = context;
  const { perform: settle, whenIdle: settled } = createLivenessActions(context, vault, wireOf);
  const singleFlight = createSingleFlight<LiveProviderTokens>();
  const memory = createLruCache<LiveProviderTokens>();

  async function rest(grantId: string): Promise<LiveProviderTokens> {
    const known = memory.get(grantId);
    if (known !== undefined && clock() < known.until) return known;
    return singleFlight.run(grantId, async () => {
      const found = await look(grantId);
      memory.set(grantId, found);
      return found;
    });
  }

  /** @throws Over or OAuthError `temporarily_unavailable` */
  async function look(grantId: string): Promise<LiveProviderTokens> {
    let bond = await store.findProviderTokens(grantId);
    for (let looks = 0; looks < LOOKS; looks += 1) {
      if (bond === null) return { bond, until: clock() + UNBONDED_FOR };
      const identityProvider = identityProviders.get(bond.identityProvider);
      // What is trusted no more is honoured no more. Nothing ends: the operator may have made a mistake.
      if (identityProvider === undefined)
        throw new ProviderTokensEndedError('its third party is not configured any more');
      const next = await settle(bond, identityProvider);
      if ('until' in next) return next;
      bond = next.bond;
    }
    throw temporarilyUnavailable(`bond ${grantId}: it changes all the time`);
  }

  return { check: rest, whenIdle: settled };
}
