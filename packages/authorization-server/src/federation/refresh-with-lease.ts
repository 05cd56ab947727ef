/** One refresh of upstream tokens under a lease: the new tokens are stored before their first use. */
import { setTimeout as pause } from 'node:timers/promises';
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ProviderTokensEndReason, RefreshedTokens, UpstreamTokens } from '../store/index.ts';
import { type IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import {
  type ProviderTokenResponse,
  type ProviderTokenSet,
  providerTokenTimes,
} from './provider/token-set.ts';
import type { TokenIssuer, TokenRecords } from './token-records.ts';
import type { TokenVault } from './token-vault.ts';

/** The outcome of a refresh. */
export type TokenRefresh<TokensRecord> =
  | { readonly kind: 'refreshed'; readonly tokens: TokensRecord }
  /** The issuer has revoked the tokens. */
  | { readonly kind: 'ended'; readonly reason: ProviderTokensEndReason }
  /** It failed for now and may be tried again after some seconds. */
  | { readonly kind: 'later'; readonly retryAfter: number; readonly reason: string };

/** Seconds before the next attempt at an unavailable issuer. */
const RETRY_AFTER = 10;
/** How often storing the new tokens is tried: there is no other copy. */
const STORE_TRIES = 6;

/**
 * The provider wants its user, as Entra does after a change of its policy.
 * @see OpenID Connect Core 1.0 §3.1.2.6, https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes
 */
const NEEDS_USER: ReadonlySet<string> = new Set([
  'interaction_required',
  'consent_required',
  'login_required',
]);

/** What a failed refresh means. */
type RefreshFailure =
  | { readonly kind: 'ended'; readonly reason: ProviderTokensEndReason }
  | { readonly kind: 'later'; readonly retryAfter: number; readonly isReleased: boolean };

/**
 * A holder that never released its lease sent a refresh whose response was lost: the tokens may be used up. The lease is left to
 * expire until a refresh succeeds, so that each later holder knows.
 * @param wasLost whether the previous holder left its lease
 * @param lease seconds for which a holder has it
 */
export function refreshFailure(
  error: Pick<IdentityProviderError, 'kind' | 'code' | 'retryAfter' | 'isResponseLost'>,
  wasLost: boolean,
  lease: number,
): RefreshFailure {
  const { kind, code, retryAfter, isResponseLost } = error;
  if (kind === 'refused' && code === 'invalid_grant')
    return { kind: 'ended', reason: wasLost ? 'refresh_lost' : 'revoked_by_provider' };
  if (kind === 'refused' && NEEDS_USER.has(code ?? '')) return { kind: 'ended', reason: 'login_required' };
  if (wasLost || isResponseLost) return { kind: 'later', retryAfter: lease, isReleased: false };
  return { kind: 'later', retryAfter: retryAfter ?? RETRY_AFTER, isReleased: true };
}

/** @param lease seconds for which the holder has it */
export function createRefreshWithLease<
  TokensRecord extends UpstreamTokens,
  TokenSet extends ProviderTokenSet,
>(
  { clock, events }: ServerContext,
  vault: TokenVault,
  records: TokenRecords<TokensRecord, TokenSet>,
  lease: number,
) {
  /** Refreshes tokens. @param holder of the lease, which is released, or left to expire */
  return async (
    holder: string,
    tokens: TokensRecord,
    issuer: TokenIssuer<TokenSet>,
  ): Promise<TokenRefresh<TokensRecord>> => {
    const { scopes, encryptedTokens } = tokens;
    if (encryptedTokens === null) return { kind: 'ended', reason: 'grant_expired' };
    let response: ProviderTokenResponse;
    try {
      const known = await vault.decrypt<TokenSet>(encryptedTokens, records.encryptionContext(tokens));
      response = await issuer.refresh(known, scopes);
    } catch (error) {
      return handleError(holder, tokens, error);
    }
    // Point of no return: the old refresh token may be invalid now, and only this process has the new one.
    return storeTokens(holder, tokens, response);
  };

  async function handleError(
    holder: string,
    tokens: TokensRecord,
    cause: unknown,
  ): Promise<TokenRefresh<TokensRecord>> {
    if (cause instanceof OAuthError) {
      if (tokens.leaseHolder === null) await records.release(tokens, holder, null);
      throw cause;
    }
    const error = toIdentityProviderError(cause);
    const failure = refreshFailure(error, tokens.leaseHolder !== null, lease);
    if (failure.kind === 'ended') return failure;
    recordFailure(tokens, error);
    if (failure.isReleased) await records.release(tokens, holder, clock() + failure.retryAfter);
    return { kind: 'later', retryAfter: failure.retryAfter, reason: error.message };
  }

  async function storeTokens(
    holder: string,
    tokens: TokensRecord,
    response: ProviderTokenResponse,
  ): Promise<TokenRefresh<TokensRecord>> {
    const now = clock();
    const context = records.encryptionContext(tokens);
    const { ciphertext, dataKeyId } = await vault.encrypt(response.tokens, context);
    const refreshed: RefreshedTokens = {
      encryptedTokens: ciphertext,
      dataKeyId,
      scopes: response.scopes,
      checkedAt: now,
      ...providerTokenTimes(response, now),
    };
    if (!(await withRetries(() => records.saveRefreshed(tokens, holder, refreshed)))) {
      return { kind: 'later', retryAfter: 1, reason: 'another process has taken over the refresh' };
    }
    events({ type: 'provider_token.refreshed', ...records.about(tokens) });
    return {
      kind: 'refreshed',
      tokens: { ...tokens, ...refreshed, version: tokens.version + 1, leaseHolder: null, leaseUntil: null },
    };
  }

  function recordFailure(tokens: TokensRecord, error: IdentityProviderError): void {
    const reason = `refresh: ${error.message}`;
    events({ type: 'identity_provider.failed', ...records.about(tokens), reason });
  }
}

/** The store may be down for a moment, and these tokens could not be obtained again. */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === STORE_TRIES) {
        throw temporarilyUnavailable(`refreshed tokens could not be stored: ${String(error)}`);
      }
      await pause(50 * 2 ** tries);
    }
  }
}
