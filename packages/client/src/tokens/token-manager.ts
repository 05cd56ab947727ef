/** The token manager: which tokens are sent, when they are renewed, and one sign-in at a time (single flight) with a cooldown. */
import { isMachineGrant } from '../authorization/grant-settings.ts';
import { planStepUp, type ScopePlan } from '../authorization/scope-plan.ts';
import { NO_CHALLENGE, type ServerChallenge } from '../discovery/challenge.ts';
import { ClientError } from '../errors.ts';
import type { SignInReason } from '../events.ts';
import { credentialKeyFor } from '../registration/credential-owner.ts';
import type { ClientSettings } from '../settings.ts';
import type { Unlock } from '../storage/credential-store.ts';
import type { CredentialKey, CredentialRecord, Tokens } from '../storage/credentials.ts';
import { isExpired, isStale } from '../token-endpoint/token-response.ts';
import type { Refresh } from './refresh.ts';
import type { SessionRevocation } from './session-revocation.ts';
import type { StoredTokens } from './stored-tokens.ts';
import type { ScopePlanner, TokenSource } from './token-source.ts';

/** Tokens that replace rejected ones. */
export interface RenewedTokens {
  readonly tokens: Tokens;
  /** `adopted`: another process had renewed them. */
  readonly by: 'adopted' | 'refreshed' | 'obtained';
}

export interface TokenManager {
  /** Tokens that need no renewal, without waiting; `null`: call `current`. */
  peek(): Tokens | null;
  /** The tokens to send, renewed ahead of their expiry; `null` when there are none. */
  current(): Promise<Tokens | null>;
  /** As `current`, for a host that sends the token itself: a bound one is replaced where the server issues bearer tokens. */
  unbound(): Promise<Tokens | null>;
  /**
   * Replaces tokens that the server rejected with 401.
   * @param mayRefresh `false` after refreshed tokens were rejected too
   */
  renew(rejected: Tokens | null, challenge: ServerChallenge, mayRefresh: boolean): Promise<RenewedTokens>;
  /** Tokens with the scopes that an operation requires; `null` when a request would gain nothing. */
  stepUp(insufficient: Tokens, challenge: ServerChallenge): Promise<Tokens | null>;
  /** Obtains tokens on request of the host. */
  obtain(challenge: ServerChallenge, prompt: string | null): Promise<Tokens>;
  /** Saves the tokens of a sign-in in two steps. Returns the record they replace; `null`: none. */
  save(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null>;
}

/** A request for new tokens. */
interface TokenDemand {
  readonly reason: SignInReason;
  readonly challenge: ServerChallenge;
  readonly plan: ScopePlanner;
  readonly prompt: string | null;
  /** Stored tokens that differ from these are newer ones of another process. */
  readonly rejected: Tokens | null;
}

/** What a token manager uses. */
interface TokenManagerServices {
  readonly stored: StoredTokens;
  readonly refresh: Refresh;
  readonly source: TokenSource;
  readonly revocation: Pick<SessionRevocation, 'revokeReplaced'>;
}

/** Milliseconds after which waiting for the sign-in lock is reported. */
const WAITING_NOTICE_DELAY = 500;

/** Creates the token manager of a client. */
export function createTokenManager(settings: ClientSettings, services: TokenManagerServices): TokenManager {
  const { store, server, account, clock, limits, grant, emit } = settings;
  const { stored, refresh, source, revocation } = services;
  const { planFirst } = source;
  const planMore = createStepUpPlanner(settings);
  let inFlight: Promise<Tokens | null> | null = null;
  let failure: { readonly error: ClientError; readonly until: number } | null = null;

  return {
    peek() {
      const tokens = stored.cached()?.tokens ?? null;
      return tokens !== null && !isStale(tokens, clock()) ? tokens : null;
    },
    current,
    async unbound() {
      const tokens = await current();
      const latest = stored.cached();
      if (tokens?.scheme !== 'DPoP' || tokens.refreshToken === null || latest === null) return tokens;
      return refresh(latest, true);
    },
    renew,
    async stepUp(insufficient, challenge) {
      const latest = await stored.load();
      if (latest !== null && latest.tokens.accessToken !== insufficient.accessToken) return latest.tokens;
      const plan = planMore(insufficient, challenge.scopes ?? []);
      const rejected = insufficient;
      return obtainOnce({ reason: 'insufficient_scope', challenge, plan, prompt: null, rejected });
    },
    async obtain(challenge, prompt) {
      failure = null;
      return obtainSome({ reason: 'requested', challenge, plan: planFirst, prompt, rejected: null });
    },
    async save(key, tokens) {
      const replaced = await stored.save(key, tokens);
      failure = null;
      return replaced;
    },
  };

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
      return await obtainOnce({ reason: 'session_ended', ...demand });
    } catch (error) {
      if (error instanceof ClientError && error.temporary && !isExpired(stale, clock())) return stale;
      throw error;
    }
  }

  async function renew(
    rejected: Tokens | null,
    challenge: ServerChallenge,
    mayRefresh: boolean,
  ): Promise<RenewedTokens> {
    const latest = await stored.load();
    if (latest !== null && latest.tokens.accessToken !== rejected?.accessToken) {
      return { tokens: latest.tokens, by: 'adopted' };
    }
    // A refresh does not sign the user in again.
    const canRefresh = mayRefresh && challenge.authentication === undefined;
    if (canRefresh && latest !== null && latest.tokens.refreshToken !== null && !isMachineGrant(grant)) {
      const tokens = await refresh(latest);
      if (tokens !== null && tokens.accessToken !== rejected?.accessToken) return { tokens, by: 'refreshed' };
    }
    const reason = reasonAfter(rejected);
    const plan = challenge.authentication === undefined || rejected === null ? planFirst : planSame(rejected);
    const tokens = await obtainSome({ reason, challenge, plan, prompt: null, rejected });
    return { tokens, by: 'obtained' };
  }

  function reasonAfter(rejected: Tokens | null): SignInReason {
    if (stored.hasEnded()) return 'session_ended';
    return rejected === null ? 'no_tokens' : 'tokens_rejected';
  }

  async function obtainSome(demand: TokenDemand): Promise<Tokens> {
    const tokens = await obtainOnce(demand);
    if (tokens === null) throw new ClientError('sign_in_needed', 'No tokens were requested.');
    return tokens;
  }

  /** Single flight: joins the request in progress, and rethrows a recent failure. */
  function obtainOnce(demand: TokenDemand): Promise<Tokens | null> {
    if (failure !== null && clock() < failure.until) return Promise.reject(failure.error);
    inFlight ??= obtainLocked(demand).finally(() => {
      inFlight = null;
    });
    return inFlight;
  }

  /** Processes that share the store sign in one after the other, and use the tokens of the first one. */
  async function obtainLocked(demand: TokenDemand): Promise<Tokens | null> {
    const unlock = await lockAndReport(['sign in', server, account, ...machineClient(settings)].join(' '));
    try {
      const latest = await stored.load();
      const isNewer = latest !== null && latest.tokens.accessToken !== demand.rejected?.accessToken;
      if (isNewer && demand.reason !== 'requested') return latest.tokens;
      return await obtainAndSave(demand);
    } catch (error) {
      if (error instanceof ClientError && !error.temporary)
        failure = { error, until: clock() + limits.cooldown };
      throw error;
    } finally {
      await unlock();
    }
  }

  async function lockAndReport(name: string): Promise<Unlock> {
    const notice = setTimeout(() => emit({ type: 'sign_in.waiting', server, account }), WAITING_NOTICE_DELAY);
    try {
      return await store.lock(name);
    } finally {
      clearTimeout(notice);
    }
  }

  async function obtainAndSave({ reason, challenge, plan, prompt }: TokenDemand): Promise<Tokens | null> {
    const prepared = await source.prepare(challenge, plan, reason === 'requested' ? 'user' : 'client');
    if (prepared === null) return null;
    const { issuer } = prepared.discovery;
    const { scopes, reasons } = prepared.plan;
    emit({ type: 'sign_in.started', issuer, reason, scopes, scopeReasons: reasons });
    const key = credentialKeyFor(settings, issuer);
    // The sign-in may replace the registration; replaced tokens belong to the previous one.
    const before = await store.find(key);
    const tokens = await source.obtain(key, prepared, prompt);
    const replaced = await stored.save(key, tokens);
    failure = null;
    if (replaced !== null && !isMachineGrant(grant)) {
      const registration = before?.registration ?? replaced.registration;
      await revocation.revokeReplaced({ ...replaced, registration }, prepared.discovery);
    }
    return tokens;
  }
}

/** The scopes of the session: only the sign-in was not sufficient. */
function planSame({ requestedScopes, scopes }: Tokens): () => ScopePlan {
  const all = [...new Set([...scopes, ...requestedScopes])];
  return () => ({ scopes: all, reasons: ['the same as before'] });
}

/** A program waits neither for a user's sign-in nor for another program. */
function machineClient({ grant, registration: { preregistered = [] } }: ClientSettings): readonly string[] {
  return isMachineGrant(grant) ? [grant.kind, ...preregistered.map(({ clientId }) => clientId)] : [];
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
