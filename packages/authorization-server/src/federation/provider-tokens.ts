/** Provider tokens of grants, as the endpoints use them: whether they are alive, how they limit our tokens, and their release to protected resources. */
import { intersectScopes, missingScopes, OAuthError, type Scopes } from '@portcullis/protocol';
import type { ProviderTokensRecord } from '../store/index.ts';
import { type ProviderTokenLiveness, ProviderTokensEndedError } from './liveness.ts';
import { grantableUntil } from './liveness-rule.ts';
import { isIdTokenExpired, isIdTokenFor } from './provider/id-tokens.ts';
import type { FederationContext } from './provider/identity-provider.ts';
import { coveredScopes } from './provider/identity-provider.ts';
import { type ProviderTokenSet, providerTokensContext } from './provider/token-set.ts';
import { createBackoff } from './refresh.ts';
import type { TokenVault } from './token-vault.ts';

/** A token of an identity provider, decrypted for the protected resource that the user is calling. */
export interface ProviderToken {
  /** A secret for the provider's API only. */
  readonly accessToken: string;
  /** As the provider says; usually `Bearer`. */
  readonly tokenType: string;
  /** Epoch seconds; `null` if the provider did not say. */
  readonly expiresAt: number | null;
  /** Scopes of the provider. */
  readonly scopes: Scopes;
  /** The identifier of the identity provider in the configuration. */
  readonly identityProvider: string;
}

/** Seconds between two attempts to obtain a new ID token of one grant. */
const RENEWAL_PAUSE = 60;

/** Which access token of an identity provider is requested from the token vault. */
export interface ProviderTokenRequest {
  /** The identifier of the identity provider; by default that of the grant. */
  readonly identityProvider?: string;
  /** Scopes of the provider that the token must have. */
  readonly scopes?: Scopes;
}

export interface ProviderTokens {
  /** `false`: no grant has provider tokens, so nothing has to be checked. */
  readonly inUse: boolean;
  /**
   * Returns the provider token of a grant, refreshed if it is about to expire. It has all scopes that the user granted at the
   * provider for this grant, and none of another grant.
   * @throws OAuthError `invalid_grant` if the grant has ended here or at the provider; `invalid_target` if it has no provider token
   * or one of another provider; `invalid_scope` if the token lacks a requested scope; `temporarily_unavailable` while the provider
   * is down
   */
  tokenFor(grantId: string, request?: ProviderTokenRequest): Promise<ProviderToken>;
  /**
   * Whether the provider tokens of a grant are alive, as checked within the `statusCheckInterval`.
   * @throws OAuthError `temporarily_unavailable`
   */
  isAlive(grantId: string): Promise<boolean>;
  /**
   * The limits of our tokens of a grant: they never outlive or exceed its provider tokens.
   * @throws OAuthError `invalid_grant` if those have ended, `temporarily_unavailable` if that cannot be determined
   */
  limitsOf(grantId: string, scopes: Scopes): Promise<{ readonly until: number; readonly scopes: Scopes }>;
  /**
   * The ID token with which the user of a grant logged in at the identity provider, or the one that replaced it.
   * @param clientId the client of the token endpoint that receives it; its audience, or it is of another provider
   * @throws OAuthError as `tokenFor`; `invalid_target` if the provider issued none, `access_denied` if it has expired
   */
  idTokenFor(grantId: string, clientId: string): Promise<string>;
  /** Resolves when no refresh at a provider is in progress, whose response would be lost. */
  whenIdle(): Promise<void>;
}

export function createProviderTokens(
  context: FederationContext,
  vault: TokenVault,
  liveness: ProviderTokenLiveness,
): ProviderTokens {
  const { store } = context;
  const { identityProviders } = context.options;
  const checkLive: ProviderTokenLiveness['check'] = (grantId) => liveness.check(grantId).catch(rejectEnded);
  const idTokenFor = createIdTokenFor(context, vault, liveness, checkLive);

  return {
    inUse: true,
    whenIdle: liveness.whenIdle,

    async isAlive(grantId) {
      try {
        await liveness.check(grantId);
        return true;
      } catch (error) {
        if (error instanceof ProviderTokensEndedError) return false;
        throw error;
      }
    },

    async limitsOf(grantId, scopes) {
      const { record } = await checkLive(grantId);
      const identityProvider = identityProviders.get(record?.identityProvider ?? '');
      if (record === null || identityProvider === undefined) {
        return { until: Number.MAX_SAFE_INTEGER, scopes };
      }
      const covered = coveredScopes(identityProvider, scopes, record.scopes);
      if (covered.length === 0 && scopes.length > 0) {
        throw new OAuthError(
          'invalid_scope',
          'The identity provider no longer grants what these scopes require.',
          { reason: `${identityProvider.id} grants less than before` },
        );
      }
      return { until: grantableUntil(record), scopes: intersectScopes(scopes, covered) };
    },

    idTokenFor,

    async tokenFor(grantId, request = {}) {
      const { record: cached } = await checkLive(grantId);
      if (cached === null) throw noProviderTokens('the grant has none');
      if (request.identityProvider !== undefined && request.identityProvider !== cached.identityProvider) {
        throw noProviderTokens(`those of the grant are of ${cached.identityProvider}`);
      }
      // Reads the current record: a refresh by another process may have invalidated the cached token.
      const [record, isGrantLive] = await Promise.all([
        store.findProviderTokens(grantId),
        store.isAccessTokenLive('', grantId),
      ]);
      if (!isGrantLive || record === null || record.endedAt !== null || record.encryptedTokens === null) {
        throw ended('grant ended');
      }
      if (missingScopes(request.scopes ?? [], record.scopes).length > 0) {
        throw new OAuthError(
          'invalid_scope',
          'The user has not granted these scopes at the identity provider.',
        );
      }
      const { accessToken, tokenType } = await vault.decrypt<ProviderTokenSet>(
        record.encryptedTokens,
        providerTokensContext(grantId),
      );
      const { expiresAt, scopes, identityProvider } = record;
      return { accessToken, tokenType, expiresAt, scopes, identityProvider };
    },
  };
}

/** Finds ID tokens, and renews those that have expired at their identity provider. */
function createIdTokenFor(
  { store, clock }: FederationContext,
  vault: TokenVault,
  liveness: ProviderTokenLiveness,
  checkLive: ProviderTokenLiveness['check'],
): ProviderTokens['idTokenFor'] {
  const renewals = createBackoff(clock);

  return async (grantId, clientId) => {
    const { record } = await checkLive(grantId);
    const known = await readIdToken(record);
    if (!isIdTokenFor(known, clientId)) throw noProviderTokens('the ID token is for another client');
    if (!isIdTokenExpired(known, clock())) return known;
    const renewed = await renew(record);
    if (renewed === null || isIdTokenExpired(renewed, clock())) throw expiredLogin();
    return renewed;
  };

  async function readIdToken(record: ProviderTokensRecord | null): Promise<string> {
    if (record === null || record.encryptedTokens === null) throw noProviderTokens('the grant has none');
    const { idToken } = await vault.decrypt<ProviderTokenSet>(
      record.encryptedTokens,
      providerTokensContext(record.grantId),
    );
    if (idToken === undefined) throw noProviderTokens('there is no ID token');
    return idToken;
  }

  /** A provider that issues no new ID token is not requested again for a while. @returns `null`: none can be obtained */
  async function renew(record: ProviderTokensRecord | null): Promise<string | null> {
    if (record?.isRefreshable !== true || renewals.remaining(record.grantId) !== null) return null;
    const { grantId } = record;
    // The record may be one of the cache, and another process may have refreshed it.
    const current = await store.findProviderTokens(grantId);
    const token = await readIdToken(current);
    if (current === null || !isIdTokenExpired(token, clock())) return token;
    const replaced = await liveness.replace(grantId, current.version).catch(rejectEnded);
    const renewed = await readIdToken(replaced);
    if (isIdTokenExpired(renewed, clock()))
      renewals.start(grantId, { retryAfter: RENEWAL_PAUSE, reason: 'no new ID token' });
    return renewed;
  }
}

/** For a server without federation: no grant has provider tokens. */
export const noProviderTokensInUse: ProviderTokens = {
  inUse: false,
  whenIdle: async () => {},
  isAlive: async () => true,
  limitsOf: async (_grantId, scopes) => ({ until: Number.MAX_SAFE_INTEGER, scopes }),
  tokenFor: () => Promise.reject(noProviderTokens('the grant has none')),
  idTokenFor: () => Promise.reject(noProviderTokens('the grant has none')),
};

/** Only a new login brings another ID token. */
function expiredLogin(): OAuthError {
  return new OAuthError(
    'access_denied',
    'The sign-in at the identity provider has expired and cannot be renewed. Disconnect the app and connect it again.',
    { reason: 'the ID token has expired' },
  );
}

function rejectEnded(error: unknown): never {
  throw error instanceof ProviderTokensEndedError ? ended(error.message) : error;
}

function ended(reason: string): OAuthError {
  const why =
    reason === 'login_required'
      ? 'The identity provider asks its user to sign in or to consent again.'
      : 'The access at the identity provider has ended.';
  return new OAuthError('invalid_grant', `${why} Start a new authorization request.`, {
    reason: `provider tokens: ${reason}`,
  });
}

function noProviderTokens(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'The grant has no token of that identity provider.', {
    reason: `provider tokens: ${reason}`,
  });
}
