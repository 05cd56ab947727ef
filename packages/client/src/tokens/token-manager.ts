/** The token manager: which tokens are sent, when they are renewed, and which scopes a step-up requests. */
import { isMachineGrant } from '../authorization/grant-settings.ts';
import { planStepUp, type ScopePlan } from '../authorization/scope-plan.ts';
import { NO_CHALLENGE, type ServerChallenge } from '../discovery/challenge.ts';
import { ClientError } from '../errors.ts';
import type { SignInReason } from '../events.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialKey, CredentialRecord, Tokens } from '../storage/credentials.ts';
import { isExpired, isStale } from '../token-endpoint/token-response.ts';
import { createObtainTokens, type ObtainTokensServices, type TokenDemand } from './obtain-tokens.ts';
import type { Refresh } from './refresh.ts';
import type { ScopePlanner } from './token-source.ts';

/** Tokens that replace rejected ones. */
export interface RenewedTokens {
  readonly tokens: Tokens;
  /** `adopted`: another process had renewed them. */
  readonly by: 'adopted' | 'refreshed' | 'obtained';
}

/** How rejected tokens may be replaced. */
interface RenewalOptions {
  /** `false` after refreshed tokens were rejected too. */
  readonly mayRefresh: boolean;
  /** `false` for a request that no user waits for. */
  readonly maySignIn: boolean;
}

export type TokenManager = ReturnType<typeof createTokenManager>;

/** What a token manager uses. */
interface TokenManagerServices extends ObtainTokensServices {
  readonly refresh: Refresh;
}

/** Creates the token manager of a client. */
export function createTokenManager(settings: ClientSettings, services: TokenManagerServices) {
  const { clock, grant, server } = settings;
  const { stored, refresh } = services;
  const { planFirst } = services.source;
  const planMore = createStepUpPlanner(settings);
  const { obtain, forgetFailure } = createObtainTokens(settings, services);

  return {
    /** Tokens that need no renewal, without waiting; `null`: call `current`. */
    peek(): Tokens | null {
      const tokens = stored.cached()?.tokens ?? null;
      return tokens !== null && !isStale(tokens, clock()) ? tokens : null;
    },
    current,
    /** As `current`, for a host that sends the token itself: a bound one is replaced where the server issues bearer tokens. */
    async unbound(): Promise<Tokens | null> {
      const latest = stored.cached() ?? (await stored.load());
      if (latest?.tokens.scheme !== 'DPoP' || latest.tokens.refreshToken === null) return current();
      return refresh(latest, { asBearer: true });
    },
    renew,
    forgetFailure,
    /** Tokens with the scopes that an operation requires; `null` when a request would gain nothing. */
    async stepUp(insufficient: Tokens, challenge: ServerChallenge): Promise<Tokens | null> {
      const latest = await stored.load();
      if (latest !== null && latest.tokens.accessToken !== insufficient.accessToken) return latest.tokens;
      const plan = planMore(insufficient, challenge.scopes ?? []);
      const rejected = insufficient;
      return obtain({ reason: 'insufficient_scope', challenge, plan, prompt: null, rejected });
    },
    /** Obtains tokens on request of the host. */
    async obtain(challenge: ServerChallenge, prompt: string | null): Promise<Tokens> {
      return obtainSome({ reason: 'requested', challenge, plan: planFirst, prompt, rejected: null });
    },
    /** Saves the tokens of a sign-in in two steps. Returns the record they replace; `null`: none. */
    async save(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null> {
      const replaced = await stored.save(key, tokens);
      forgetFailure();
      return replaced;
    },
  };

  /** The tokens to send, renewed ahead of their expiry; `null` when there are none. */
  async function current(): Promise<Tokens | null> {
    const latest = stored.cached() ?? (await stored.load());
    if (latest === null) return null;
    const { tokens } = latest;
    if (!isStale(tokens, clock())) return tokens;
    if (isMachineGrant(grant)) return renewMachineTokens(tokens);
    return tokens.refreshToken === null ? tokens : refresh(latest);
  }

  /** Machine grants need no consent: new tokens are requested before the old ones expire. */
  async function renewMachineTokens(stale: Tokens): Promise<Tokens | null> {
    const plan = (): ScopePlan => ({ scopes: stale.requestedScopes, reasons: ['the same as before'] });
    const demand = { challenge: NO_CHALLENGE, plan, prompt: null, rejected: stale };
    try {
      return await obtain({ reason: 'session_ended', ...demand });
    } catch (error) {
      if (error instanceof ClientError && error.temporary && !isExpired(stale, clock())) return stale;
      throw error;
    }
  }

  /**
   * Replaces tokens that the server rejected with 401.
   * @throws ClientError `sign_in_needed` instead of a sign-in that the options do not allow
   */
  async function renew(
    rejected: Tokens | null,
    challenge: ServerChallenge,
    { mayRefresh, maySignIn }: RenewalOptions,
  ): Promise<RenewedTokens> {
    const latest = await stored.load();
    if (latest !== null && latest.tokens.accessToken !== rejected?.accessToken) {
      return { tokens: latest.tokens, by: 'adopted' };
    }
    // A refresh does not sign the user in again.
    const canRefresh = mayRefresh && challenge.authentication === undefined;
    if (canRefresh && latest !== null && latest.tokens.refreshToken !== null && !isMachineGrant(grant)) {
      const tokens = await refresh(latest, { isRejected: true });
      if (tokens !== null && tokens.accessToken !== rejected?.accessToken) return { tokens, by: 'refreshed' };
    }
    if (!maySignIn) {
      const message = `${server} requires a sign-in, which begins with the next request that a user waits for.`;
      throw new ClientError('sign_in_needed', message);
    }
    const reason = reasonAfter(rejected, challenge);
    const plan = challenge.authentication === undefined || rejected === null ? planFirst : planSame(rejected);
    const tokens = await obtainSome({ reason, challenge, plan, prompt: null, rejected });
    return { tokens, by: 'obtained' };
  }

  function reasonAfter(rejected: Tokens | null, { authentication }: ServerChallenge): SignInReason {
    if (stored.hasEnded()) return 'session_ended';
    if (rejected !== null && authentication !== undefined) return 'insufficient_user_authentication';
    return rejected === null ? 'no_tokens' : 'tokens_rejected';
  }

  async function obtainSome(demand: TokenDemand): Promise<Tokens> {
    const tokens = await obtain(demand);
    if (tokens === null) throw new ClientError('sign_in_needed', 'No tokens were requested.');
    return tokens;
  }
}

/** The scopes of the session: only the sign-in was not sufficient. */
function planSame({ requestedScopes, scopes }: Tokens): () => ScopePlan {
  const all = [...new Set([...scopes, ...requestedScopes])];
  return () => ({ scopes: all, reasons: ['the same as before'] });
}

/** Plans a step-up: the missing scopes besides those of the session, each once per process, after confirmation. */
function createStepUpPlanner({ retryStepUp, confirmStepUp, emit }: ClientSettings) {
  /** A user who deselects a scope twice has decided. */
  const requested = new Set<string>();

  return (insufficient: Tokens, needed: readonly string[]): ScopePlanner =>
    async (discovery) => {
      const before = { requested: insufficient.requestedScopes, granted: insufficient.scopes };
      const retry = retryStepUp && needed.some((scope) => !requested.has(scope));
      const plan = planStepUp(discovery, needed, before, retry);
      if (plan === null) return null;
      const had = retry ? before.granted : before.requested;
      const added = plan.scopes.filter((scope) => !had.includes(scope));
      for (const scope of needed) requested.add(scope);
      emit({ type: 'step_up.requested', added });
      return (await confirmStepUp(added)) ? plan : null;
    };
}
