/** What a bond needs now, done: it is honoured, asked for, renewed or ended. */

import { temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ProviderTokensEndReason, ProviderTokensRecord } from '../store/index.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { nextLivenessAction } from './liveness-rule.ts';
import type { ProviderClient } from './provider-client.ts';
import { createProviderTokenRefresher, type ProviderTokenRefresher } from './refresh.ts';
import type { ProviderTokenRefresh } from './refresh-with-lease.ts';
import { createCheckTokenStatus, RECHECK_AFTER } from './token-status.ts';
import type { TokenVault } from './token-vault.ts';

/** What a grant rests on, known to be alive. */
export interface LiveProviderTokens {
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
export class ProviderTokensEndedError extends Error {
  override readonly name: string = 'Over';
}

export interface LivenessActions {
  /** Answers that a bond is alive, or what it is now. @throws Over, or OAuthError `temporarily_unavailable` when nobody can say */
  perform(
    bond: ProviderTokensRecord,
    identityProvider: IdentityProvider,
  ): Promise<LiveProviderTokens | Changed>;
  /** Resolves when no renewal is under way. */
  readonly whenIdle: ProviderTokenRefresher['whenIdle'];
}

export function createLivenessActions(
  context: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): LivenessActions {
  const { store, clock, events } = context;
  const inquire = createCheckTokenStatus(context, vault, wireOf);
  const renewals = createProviderTokenRefresher(context, vault, wireOf);
  return { perform: settle, whenIdle: renewals.whenIdle };

  async function settle(
    bond: ProviderTokensRecord,
    identityProvider: IdentityProvider,
  ): Promise<LiveProviderTokens | Changed> {
    const need = nextLivenessAction(bond, clock(), identityProvider.statusCheckInterval);
    switch (need.do) {
      case 'honour':
        return { bond, until: need.until };
      case 'end':
        return end(bond, need.reason);
      case 'renew':
        return take(bond, await renewals.refresh(bond, identityProvider));
      case 'renew-ahead': {
        const renewal = await renewals.refresh(bond, identityProvider);
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
  ): Promise<LiveProviderTokens | Changed> {
    const need = nextLivenessAction(
      { ...bond, refreshFrom: null },
      clock(),
      identityProvider.statusCheckInterval,
    );
    if (need.do === 'honour') return { bond, until: Math.min(need.until, clock() + RECHECK_AFTER) };
    return ask(bond, identityProvider);
  }

  async function take(bond: ProviderTokensRecord, renewal: ProviderTokenRefresh): Promise<Changed> {
    if (renewal.kind === 'renewed') return { bond: renewal.bond };
    if (renewal.kind === 'over') return end(bond, renewal.reason);
    throw temporarilyUnavailable(`${bond.identityProvider}: ${renewal.reason}`, renewal.retryAfter);
  }

  async function ask(
    bond: ProviderTokensRecord,
    identityProvider: IdentityProvider,
  ): Promise<LiveProviderTokens | Changed> {
    const at = clock();
    const answer = await inquire(bond, identityProvider);
    if (answer === 'changed') return end(bond, 'changed_by_provider');
    if (answer === 'dead') {
      // A refresh token may outlive what it renews: the third party decides when it is presented.
      return bond.isRefreshable
        ? take(bond, await renewals.refresh(bond, identityProvider))
        : end(bond, 'revoked_by_provider');
    }
    if (answer === 'alive') await store.recordProviderTokensCheck(bond.grantId, at);
    const alive = { ...bond, checkedAt: Math.max(at, bond.checkedAt) };
    const need = nextLivenessAction(
      { ...alive, refreshFrom: null },
      at,
      identityProvider.statusCheckInterval,
    );
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
      throw new ProviderTokensEndedError(reason);
    }
    const now = await store.findProviderTokens(grantId);
    if (now === null || now.endedAt !== null) throw new ProviderTokensEndedError(reason);
    return { bond: now };
  }
}
