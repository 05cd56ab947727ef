/** What a bond needs now, done: it is honoured, asked for, renewed or ended. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { ProviderTokensEndReason, ProviderTokensRecord } from '../store/index.ts';
import { needOf } from './bond-law.ts';
import { ASKED_AGAIN_AFTER, createInquire } from './inquiry.ts';
import type { Renewal } from './renew-as.ts';
import { createRenewals, type Renewals } from './renewals.ts';
import type { IdentityProvider } from './third-party.ts';
import type { Vault } from './vault.ts';
import type { Wire } from './wire.ts';

/** What a grant rests on, known to be alive. */
export interface Rest {
  /** `null`: on nothing but this server. */
  readonly bond: ProviderTokensRecord | null;
  /** Epoch seconds until which it need not be looked at again. */
  readonly until: number;
}

/** A bond that is another than it was: it has to be judged anew. */
interface Changed {
  readonly bond: ProviderTokensRecord | null;
}

/** A bond that has ended. */
export class Over extends Error {
  override readonly name: string = 'Over';
}

export interface Settlement {
  /** Answers that a bond is alive, or what it is now. @throws Over, or OAuthError `temporarily_unavailable` when nobody can say */
  settle(bond: ProviderTokensRecord, identityProvider: IdentityProvider): Promise<Rest | Changed>;
  /** Resolves when no renewal is under way. */
  readonly settled: Renewals['settled'];
}

export function createSettlement(
  configuration: Configuration,
  vault: Vault,
  wireOf: (identityProvider: IdentityProvider) => Wire,
): Settlement {
  const { store, clock, events } = configuration;
  const inquire = createInquire(configuration, vault, wireOf);
  const renewals = createRenewals(configuration, vault, wireOf);
  return { settle, settled: renewals.settled };

  async function settle(
    bond: ProviderTokensRecord,
    identityProvider: IdentityProvider,
  ): Promise<Rest | Changed> {
    const need = needOf(bond, clock(), identityProvider.statusCheckInterval);
    switch (need.do) {
      case 'honour':
        return { bond, until: need.until };
      case 'end':
        return end(bond, need.reason);
      case 'renew':
        return take(bond, await renewals.renew(bond, identityProvider));
      case 'renew-ahead': {
        const renewal = await renewals.renew(bond, identityProvider);
        // Their token still works: what counts is whether it is alive.
        return renewal.kind === 'later' ? honourOrAsk(bond, identityProvider) : take(bond, renewal);
      }
      case 'ask':
        return ask(bond, identityProvider);
    }
  }

  async function honourOrAsk(
    bond: ProviderTokensRecord,
    identityProvider: IdentityProvider,
  ): Promise<Rest | Changed> {
    const need = needOf({ ...bond, refreshFrom: null }, clock(), identityProvider.statusCheckInterval);
    if (need.do === 'honour') return { bond, until: Math.min(need.until, clock() + ASKED_AGAIN_AFTER) };
    return ask(bond, identityProvider);
  }

  async function take(bond: ProviderTokensRecord, renewal: Renewal): Promise<Changed> {
    if (renewal.kind === 'renewed') return { bond: renewal.bond };
    if (renewal.kind === 'over') return end(bond, renewal.reason);
    throw temporarilyUnavailable(`${bond.identityProvider}: ${renewal.reason}`, renewal.retryAfter);
  }

  async function ask(
    bond: ProviderTokensRecord,
    identityProvider: IdentityProvider,
  ): Promise<Rest | Changed> {
    const at = clock();
    const answer = await inquire(bond, identityProvider);
    if (answer === 'changed') return end(bond, 'changed_by_provider');
    if (answer === 'dead') {
      // A refresh token may outlive what it renews: the third party decides when it is presented.
      return bond.isRefreshable
        ? take(bond, await renewals.renew(bond, identityProvider))
        : end(bond, 'revoked_by_provider');
    }
    if (answer === 'alive') await store.recordProviderTokensCheck(bond.grantId, at);
    const alive = { ...bond, checkedAt: Math.max(at, bond.checkedAt) };
    const need = needOf({ ...alive, refreshFrom: null }, at, identityProvider.statusCheckInterval);
    return need.do === 'honour' ? { bond: alive, until: need.until } : { bond: alive };
  }

  /** Ends a bond; answers it anew when another process has changed it meanwhile. */
  async function end(bond: ProviderTokensRecord, reason: ProviderTokensEndReason): Promise<Changed> {
    const { grantId, accountId, version } = bond;
    // Point of no return: the grant and its tokens are dead.
    if (bond.endedAt === null && (await store.endProviderTokens(grantId, version, reason, clock()))) {
      events({
        type: 'provider_token.ended',
        identityProvider: bond.identityProvider,
        grantId,
        accountId,
        reason,
      });
      throw new Over(reason);
    }
    const now = await store.findProviderTokens(grantId);
    if (now === null || now.endedAt !== null) throw new Over(reason);
    return { bond: now };
  }
}
