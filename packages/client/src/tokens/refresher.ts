/** Refreshing: one request in flight a credential, retried through outages, and only `invalid_grant` ends a session. */

import { ClientError } from '../errors.ts';
import { mayUseTokens } from '../registration/credential-owner.ts';
import type { Registration } from '../registration/registration.ts';
import { isUnknownClientError } from '../registration/registration-status.ts';
import type { ClientSettings } from '../settings.ts';
import { changeRecord } from '../storage/change-record.ts';
import type { CredentialKey, CredentialRecord } from '../storage/credential-store.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import { refreshTokenRequest, requestTokens } from '../token-endpoint/token-request.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';

/** How a refresh ended. */
type RefreshResult =
  /** Newer tokens, by this refresh or by somebody else's. */
  | { readonly kind: 'renewed'; readonly tokens: Tokens }
  /** There is no session any more: the refresh token is gone or dead. */
  | { readonly kind: 'ended' }
  /** It could not be done for now; the session stands. */
  | { readonly kind: 'postponed'; readonly error: ClientError };

/** Longest wait that a server's `Retry-After` is worth, in milliseconds. */
const PATIENCE = 5_000;

export interface Refresher {
  /** Renews the tokens of a record, unless somebody has done so since `stale` was read. */
  refresh(key: CredentialKey, stale: Tokens): Promise<RefreshResult>;
}

/** Makes the refresher of a client. */
export function createRefresher(
  configuration: ClientSettings,
  hands: TokenEndpointContext,
  registrationOf: (record: CredentialRecord, tokens: Tokens) => Registration | null,
): Refresher {
  const { store, limits, emit: tell } = configuration;

  return {
    refresh: (key, stale) =>
      changeRecord(store, key, async (record) => {
        const tokens = record?.tokens ?? null;
        if (record === null || tokens === null) return { kind: 'ended' };
        // Whoever was faster has done the work: its tokens are the newest, unless another client signed in there.
        if (tokens.accessToken !== stale.accessToken)
          return (await mayUseTokens(record, configuration))
            ? { kind: 'renewed', tokens }
            : { kind: 'ended' };
        return renew(record, tokens);
      }),
  };

  async function renew(record: CredentialRecord, tokens: Tokens): Promise<RefreshResult> {
    const registration = registrationOf(record, tokens);
    if (tokens.refreshToken === null || registration === null) return { kind: 'ended' };
    try {
      const renewed = await askPatiently(record, tokens, registration);
      // Point of no return: the old refresh token may be dead from here on.
      await store.save({ ...record, tokens: renewed });
      tell({ type: 'tokens.refreshed', issuer: record.key.issuer });
      return { kind: 'renewed', tokens: renewed };
    } catch (error) {
      return understandFailure(record, tokens, error);
    }
  }

  /** An answer that was lost on its way is asked for again: servers repeat it within a short grace. */
  async function askPatiently(
    record: CredentialRecord,
    tokens: Tokens,
    registration: Registration,
  ): Promise<Tokens> {
    const request = refreshTokenRequest(tokens, record.key.issuer, registration);
    for (const delay of [...limits.retryDelays, null]) {
      try {
        return await requestTokens(hands, request);
      } catch (error) {
        if (!(error instanceof ClientError) || !error.temporary || delay === null) throw error;
        const wanted = (error.retryAfter ?? 0) * 1000;
        if (wanted > PATIENCE) throw error;
        await hands.sleep(Math.max(delay, wanted));
      }
    }
    throw new TypeError('The last try returns or throws.');
  }

  async function understandFailure(
    record: CredentialRecord,
    tokens: Tokens,
    error: unknown,
  ): Promise<RefreshResult> {
    if (!(error instanceof ClientError)) throw error;
    const { issuer } = record.key;
    if (error.oauthError === 'invalid_grant') {
      await store.save({ ...record, tokens: null });
      tell({ type: 'session.ended', issuer, reason: error.message });
      return { kind: 'ended' };
    }
    if (isUnknownClientError(error) && record.registration?.method === 'dynamic') {
      await store.save({ ...record, registration: null });
      tell({
        type: 'client.registration_discarded',
        issuer,
        clientId: tokens.clientId,
        reason: error.message,
      });
      return { kind: 'ended' };
    }
    tell({ type: 'tokens.refresh_deferred', issuer, reason: error.message });
    return { kind: 'postponed', error };
  }
}
