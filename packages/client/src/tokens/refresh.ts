/** Token refresh: single flight per credential, retried during outages; only a refusal of the refresh token ends the session. */
import { ClientError } from '../errors.ts';
import { mayUseTokens } from '../registration/credential-owner.ts';
import { isUnknownClientError } from '../registration/registration-status.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialKey, CredentialRecord, Registration, Tokens } from '../storage/credentials.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import { refreshTokenRequest, requestTokens, type TokenRequest } from '../token-endpoint/token-request.ts';
import { isExpired } from '../token-endpoint/token-response.ts';
import type { SessionRevocation } from './session-revocation.ts';
import type { KeyedTokens, StoredTokens } from './stored-tokens.ts';

type RefreshResult =
  /** New tokens, from this refresh or from another process. */
  | { readonly kind: 'refreshed'; readonly tokens: Tokens }
  /** The session is over: the refresh token is gone or invalid. */
  | { readonly kind: 'ended' }
  /** Any other failure; the session continues with the tokens it has. */
  | { readonly kind: 'deferred'; readonly tokens: Tokens; readonly error: ClientError };

/** Longest `Retry-After` to wait for, in milliseconds. */
const MAX_RETRY_AFTER = 5_000;

/** What a refresh uses. */
interface RefreshServices {
  readonly registrations: StoredRegistrations;
  readonly stored: StoredTokens;
  readonly revocation: SessionRevocation;
}

interface RefreshOptions {
  /** Requests a bearer token although the refresh token is bound to a key. */
  readonly asBearer?: boolean;
  /** The protected server has rejected the access token. */
  readonly isRejected?: boolean;
}

/**
 * Refreshes tokens, or joins the refresh in progress; `null`: the user has to sign in.
 * @throws ClientError of an outage, when the access token has expired meanwhile or was rejected.
 */
export type Refresh = (stale: KeyedTokens, options?: RefreshOptions) => Promise<Tokens | null>;

/** Creates the refresh of a client. */
export function createRefresh(
  settings: ClientSettings,
  context: TokenEndpointContext,
  { registrations, stored, revocation }: RefreshServices,
): Refresh {
  const { store, limits, emit, clock } = settings;
  /** By `asBearer`: a refresh that keeps the key does not serve a host that requests a bearer token. */
  const inFlight = new Map<boolean, Promise<RefreshResult>>();

  return async (stale, { asBearer = false, isRejected = false } = {}) => {
    const refreshing =
      inFlight.get(asBearer) ??
      refreshAndCache(stale, asBearer).finally(() => {
        inFlight.delete(asBearer);
      });
    inFlight.set(asBearer, refreshing);
    const result = await refreshing;
    if (result.kind === 'ended') return null;
    if (result.kind === 'refreshed') return result.tokens;
    if (isRejected && isRefusal(result.error)) return null;
    // The access token may outlive the outage.
    if (!isRejected && !isExpired(result.tokens, clock())) return result.tokens;
    throw result.error;
  };

  async function refreshAndCache({ key, tokens }: KeyedTokens, asBearer: boolean): Promise<RefreshResult> {
    const result = await refreshStored(key, tokens, asBearer);
    if (result.kind === 'refreshed') stored.cache({ key, tokens: result.tokens });
    if (result.kind === 'ended') stored.end();
    return result;
  }

  function refreshStored(key: CredentialKey, stale: Tokens, asBearer: boolean): Promise<RefreshResult> {
    return stored.withRecord(key, (record) => refreshRecord(record, stale, asBearer));
  }

  async function refreshRecord(
    record: CredentialRecord | null,
    stale: Tokens,
    asBearer: boolean,
  ): Promise<RefreshResult> {
    const tokens = record?.tokens ?? null;
    if (record === null || tokens === null) return { kind: 'ended' };
    // Another refresh has replaced them: its tokens are the newest, unless another client signed in.
    if (tokens.accessToken !== stale.accessToken) {
      if (!(await mayUseTokens(record, settings))) return { kind: 'ended' };
      const isFinal = !asBearer || tokens.scheme !== 'DPoP' || tokens.refreshToken === null;
      if (isFinal) return { kind: 'refreshed', tokens };
    }
    const result = await refreshAndSave(record, tokens, asBearer);
    return result ?? refreshRecord(await store.find(record.key), tokens, asBearer);
  }

  /** @returns `null` if the record was changed meanwhile: the lock of a process that was suspended has expired */
  async function refreshAndSave(
    record: CredentialRecord,
    tokens: Tokens,
    asBearer: boolean,
  ): Promise<RefreshResult | null> {
    const registration = registrations.forTokens(record, tokens);
    if (tokens.refreshToken === null || registration === null) return { kind: 'ended' };
    try {
      const request = refreshTokenRequest(tokens, record.key.issuer, registration, asBearer);
      const { registration: replaced } = tokens;
      const refreshed = {
        ...(await requestWithRetries(request)),
        ...(replaced && { registration: replaced }),
      };
      // Point of no return: the old refresh token may be invalid from here on.
      if (!(await stored.saveRefreshed(record, tokens, refreshed))) {
        await revokeDiscarded({ ...record, tokens: refreshed });
        return null;
      }
      emit({ type: 'tokens.refreshed', issuer: record.key.issuer });
      return { kind: 'refreshed', tokens: refreshed };
    } catch (error) {
      return handleFailure(settings, record, tokens, registration, error);
    }
  }

  /** Revokes tokens of a session that has ended; another refresh of the same session shares its grant. */
  async function revokeDiscarded(discarded: CredentialRecord): Promise<void> {
    const newest = await store.find(discarded.key);
    if (newest === null || newest.tokens === null) await revocation.revoke(discarded);
    else if (newest.since !== discarded.since) await revocation.revokeReplaced(discarded);
  }

  /** A lost response is requested again: servers repeat it within a short grace period. */
  async function requestWithRetries(request: TokenRequest): Promise<Tokens> {
    for (const delay of [...limits.retryDelays, null]) {
      try {
        return await requestTokens(context, request);
      } catch (error) {
        if (!(error instanceof ClientError) || !error.temporary || delay === null) throw error;
        const retryAfter = (error.retryAfter ?? 0) * 1000;
        if (retryAfter > MAX_RETRY_AFTER) throw error;
        await context.sleep(Math.max(delay, retryAfter));
      }
    }
    throw new TypeError('The last attempt returns or throws.');
  }
}

async function handleFailure(
  { store, emit, clock }: ClientSettings,
  record: CredentialRecord,
  tokens: Tokens,
  registration: Registration,
  error: unknown,
): Promise<RefreshResult | null> {
  if (!(error instanceof ClientError)) throw error;
  const { issuer } = record.key;
  const reason = error.message;
  // Without an access token to use, any refusal would be repeated for ever.
  if (error.oauthError === 'invalid_grant' || (isRefusal(error) && isExpired(tokens, clock()))) {
    if (!(await store.save({ ...record, tokens: null }, tokens))) return null;
    emit({ type: 'session.ended', issuer, reason });
    return { kind: 'ended' };
  }
  if (isUnknownClientError(error) && registration.method === 'dynamic') {
    const isCurrent = record.registration?.clientId === tokens.clientId;
    const { registration: _unknown, ...withoutRegistration } = tokens;
    const registrationLeft = isCurrent ? null : record.registration;
    const changed = { ...record, registration: registrationLeft, tokens: withoutRegistration };
    if (!(await store.save(changed, tokens))) return null;
    emit({ type: 'client.registration_discarded', issuer, clientId: tokens.clientId, reason });
    return { kind: 'ended' };
  }
  emit({ type: 'tokens.refresh_deferred', issuer, reason });
  return { kind: 'deferred', tokens, error };
}

/** OAuth error codes of a server that fails rather than refuses. */
const FAILURES: ReadonlySet<string> = new Set(['server_error', 'slow_down', 'use_dpop_nonce']);

/**
 * Whether the refresh token is refused by an OAuth error, whichever it is, that signing in may cure: no outage, no page of a
 * gateway or of a token endpoint that is not there, and nothing about the client itself.
 */
function isRefusal(error: ClientError): boolean {
  const { temporary, status, oauthError = '' } = error;
  const isOAuthError = /^[a-z_]+$/.test(oauthError) && status !== 404;
  return !temporary && isOAuthError && !FAILURES.has(oauthError) && !isUnknownClientError(error);
}
