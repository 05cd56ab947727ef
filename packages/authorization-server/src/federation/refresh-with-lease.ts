/** One renewal, by the holder of its lease: the third party is asked, and what it gives is kept before anybody uses it. */

import { setTimeout as pause } from 'node:timers/promises';
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type {
  ProviderTokensEndReason,
  ProviderTokensRecord,
  RefreshedProviderTokens,
} from '../store/index.ts';
import type { ProviderClient } from './provider-client.ts';
import { type IdentityProviderError, toIdentityProviderError } from './provider-error.ts';
import {
  type ProviderTokenResponse,
  type ProviderTokenSet,
  providerTokensContext,
  providerTokenTimes,
} from './token-set.ts';
import type { TokenVault } from './token-vault.ts';

/** What became of a renewal. */
export type ProviderTokenRefresh =
  | { readonly kind: 'renewed'; readonly bond: ProviderTokensRecord }
  /** The third party has ended what it gave. */
  | { readonly kind: 'over'; readonly reason: ProviderTokensEndReason }
  /** It cannot be renewed now. Seconds after which to try again. */
  | { readonly kind: 'later'; readonly retryAfter: number; readonly reason: string };

/** Renews a bond. @param holder of its lease, which is given back, or left to run out */
export type RefreshWithLease = (
  holder: string,
  bond: ProviderTokensRecord,
  wire: ProviderClient,
) => Promise<ProviderTokenRefresh>;

/** Seconds after which a third party that could not answer is asked again. */
const COOL_DOWN = 10;
/** How often what was renewed is tried to be kept: nobody else has it. */
const KEEP_TRIES = 6;

/** @param lease seconds that the holder has */
export function createRefreshWithLease(
  { store, clock, events }: Pick<ServerContext, 'store' | 'clock' | 'events'>,
  vault: TokenVault,
  lease: number,
): RefreshWithLease {
  return renewAs;

  async function renewAs(
    holder: string,
    bond: ProviderTokensRecord,
    wire: ProviderClient,
  ): Promise<ProviderTokenRefresh> {
    const { grantId, scopes, encryptedTokens } = bond;
    if (encryptedTokens === null) return { kind: 'over', reason: 'grant_expired' };
    let given: ProviderTokenResponse;
    try {
      const tokens = await vault.decrypt<ProviderTokenSet>(encryptedTokens, providerTokensContext(grantId));
      given = await wire.refresh(tokens, scopes);
    } catch (error) {
      return refuse(holder, bond, error);
    }
    // Point of no return: the old refresh token may be worth nothing now, and only we have the new one.
    return keep(holder, bond, given);
  }

  async function refuse(
    holder: string,
    bond: ProviderTokensRecord,
    error: unknown,
  ): Promise<ProviderTokenRefresh> {
    if (error instanceof OAuthError) {
      await store.releaseProviderTokens(bond.grantId, holder, null);
      throw error;
    }
    const issue = toIdentityProviderError(error);
    if (issue.kind === 'refused' && issue.code === 'invalid_grant') {
      // Whoever held the lease before never gave it back: a renewal was sent, and its answer lost.
      return { kind: 'over', reason: bond.leaseHolder === null ? 'revoked_by_provider' : 'refresh_lost' };
    }
    note(bond, issue);
    const retryAfter = issue.isLost ? lease : (issue.retryAfter ?? COOL_DOWN);
    // A request whose answer was lost leaves its lease to run out, so that its successor knows of it.
    if (!issue.isLost) await store.releaseProviderTokens(bond.grantId, holder, clock() + retryAfter);
    return { kind: 'later', retryAfter, reason: issue.message };
  }

  async function keep(
    holder: string,
    bond: ProviderTokensRecord,
    given: ProviderTokenResponse,
  ): Promise<ProviderTokenRefresh> {
    const now = clock();
    const { envelope, dataKeyId } = await vault.encrypt(given.tokens, providerTokensContext(bond.grantId));
    const renewed: RefreshedProviderTokens = {
      encryptedTokens: envelope,
      dataKeyId,
      scopes: given.scopes,
      checkedAt: now,
      ...providerTokenTimes(given, now),
    };
    if (!(await persist(() => store.saveRefreshedProviderTokens(bond.grantId, holder, renewed)))) {
      return { kind: 'later', retryAfter: 1, reason: 'another process took the renewal over' };
    }
    events({
      type: 'provider_token.refreshed',
      identityProvider: bond.identityProvider,
      grantId: bond.grantId,
      accountId: bond.accountId,
    });
    return {
      kind: 'renewed',
      bond: { ...bond, ...renewed, version: bond.version + 1, leaseHolder: null, leaseUntil: null },
    };
  }

  function note(bond: ProviderTokensRecord, issue: IdentityProviderError): void {
    events({
      type: 'identity_provider.failed',
      identityProvider: bond.identityProvider,
      grantId: bond.grantId,
      accountId: bond.accountId,
      reason: `renewal: ${issue.message}`,
    });
  }
}

/** The store may be away for a moment; what would be lost cannot be had again. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === KEEP_TRIES)
        throw temporarilyUnavailable(`what was renewed could not be kept: ${String(error)}`);
      await pause(50 * 2 ** tries);
    }
  }
}
