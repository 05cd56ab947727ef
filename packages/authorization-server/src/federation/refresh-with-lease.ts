/** One refresh of provider tokens under a lease: the new tokens are stored before their first use. */
import { setTimeout as pause } from 'node:timers/promises';
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type {
  ProviderTokensEndReason,
  ProviderTokensRecord,
  RefreshedProviderTokens,
} from '../store/index.ts';
import { type IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import {
  type ProviderTokenResponse,
  type ProviderTokenSet,
  providerTokensContext,
  providerTokenTimes,
} from './provider/token-set.ts';
import type { TokenIssuer } from './token-issuer.ts';
import type { TokenVault } from './token-vault.ts';

/** The outcome of a refresh. */
export type ProviderTokenRefresh =
  | { readonly kind: 'refreshed'; readonly record: ProviderTokensRecord }
  /** The provider has revoked the tokens. */
  | { readonly kind: 'ended'; readonly reason: ProviderTokensEndReason }
  /** It failed for now and may be tried again after some seconds. */
  | { readonly kind: 'later'; readonly retryAfter: number; readonly reason: string };

/** Refreshes provider tokens. @param holder of the lease, which is released, or left to expire */
type RefreshWithLease = (
  holder: string,
  record: ProviderTokensRecord,
  issuer: TokenIssuer,
) => Promise<ProviderTokenRefresh>;

/** Seconds before the next attempt at an unavailable provider. */
const RETRY_AFTER = 10;
/** How often storing the new tokens is tried: there is no other copy. */
const STORE_TRIES = 6;

/** @param lease seconds for which the holder has it */
export function createRefreshWithLease(
  { store, clock, events }: ServerContext,
  vault: TokenVault,
  lease: number,
): RefreshWithLease {
  return async (holder, record, { client }) => {
    const { grantId, scopes, encryptedTokens } = record;
    if (encryptedTokens === null) return { kind: 'ended', reason: 'grant_expired' };
    let tokenResponse: ProviderTokenResponse;
    try {
      const tokens = await vault.decrypt<ProviderTokenSet>(encryptedTokens, providerTokensContext(grantId));
      tokenResponse = await client.refresh(tokens, scopes);
    } catch (error) {
      return handleError(holder, record, error);
    }
    // Point of no return: the old refresh token may be invalid now, and only this process has the new one.
    return storeTokens(holder, record, tokenResponse);
  };

  async function handleError(
    holder: string,
    record: ProviderTokensRecord,
    cause: unknown,
  ): Promise<ProviderTokenRefresh> {
    if (cause instanceof OAuthError) {
      await store.releaseProviderTokens(record.grantId, holder, null);
      throw cause;
    }
    const error = toIdentityProviderError(cause);
    if (error.kind === 'refused' && error.code === 'invalid_grant') {
      // If the previous holder never released its lease, it sent a refresh and its response was lost.
      return {
        kind: 'ended',
        reason: record.leaseHolder === null ? 'revoked_by_provider' : 'refresh_lost',
      };
    }
    recordFailure(record, error);
    const retryAfter = error.isResponseLost ? lease : (error.retryAfter ?? RETRY_AFTER);
    // If the response was lost, the lease is left to expire, so that the next holder knows.
    if (!error.isResponseLost) {
      await store.releaseProviderTokens(record.grantId, holder, clock() + retryAfter);
    }
    return { kind: 'later', retryAfter, reason: error.message };
  }

  async function storeTokens(
    holder: string,
    record: ProviderTokensRecord,
    tokenResponse: ProviderTokenResponse,
  ): Promise<ProviderTokenRefresh> {
    const { grantId, identityProvider, accountId } = record;
    const now = clock();
    const { ciphertext, dataKeyId } = await vault.encrypt(
      tokenResponse.tokens,
      providerTokensContext(grantId),
    );
    const refreshed: RefreshedProviderTokens = {
      encryptedTokens: ciphertext,
      dataKeyId,
      scopes: tokenResponse.scopes,
      checkedAt: now,
      ...providerTokenTimes(tokenResponse, now),
    };
    if (!(await withRetries(() => store.saveRefreshedProviderTokens(grantId, holder, refreshed)))) {
      return { kind: 'later', retryAfter: 1, reason: 'another process has taken over the refresh' };
    }
    events({ type: 'provider_token.refreshed', identityProvider, grantId, accountId });
    return {
      kind: 'refreshed',
      record: { ...record, ...refreshed, version: record.version + 1, leaseHolder: null, leaseUntil: null },
    };
  }

  function recordFailure(
    { identityProvider, grantId, accountId }: ProviderTokensRecord,
    error: IdentityProviderError,
  ): void {
    const reason = `refresh: ${error.message}`;
    events({ type: 'identity_provider.failed', identityProvider, grantId, accountId, reason });
  }
}

/** The store may be down for a moment, and these tokens could not be obtained again. */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === STORE_TRIES) {
        throw temporarilyUnavailable(`refreshed provider tokens could not be stored: ${String(error)}`);
      }
      await pause(50 * 2 ** tries);
    }
  }
}
