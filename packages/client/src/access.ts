/** The session with one server: which tokens are sent, when they are renewed, and when somebody has to be asked again. */

import { planStepUp, type ScopePlan } from './authorization/scope-plan.ts';
import type { Configuration } from './configuration.ts';
import { NO_CHALLENGE, type ServerChallenge } from './discovery/challenge.ts';
import type { Discovery } from './discovery/conclude.ts';
import { ClientError } from './errors.ts';
import type { SignInReason } from './events.ts';
import type { Obtainer, Planner } from './obtainer.ts';
import {
  type CredentialKey,
  type CredentialRecord,
  keyText,
  type Release,
} from './store/credential-store.ts';
import type { Refresher } from './tokens/refresh.ts';
import { isExpired, isStale, type Tokens } from './tokens/tokens.ts';

/** How tokens were renewed after a refusal. */
export interface Renewal {
  readonly tokens: Tokens;
  /** `adopted`: somebody else had renewed them. */
  readonly by: 'adopted' | 'refreshed' | 'obtained';
}

export interface Access {
  /** Tokens that need no renewal, without waiting; `null`: ask `current`. */
  peek(): Tokens | null;
  /** The tokens to send, renewed ahead of their expiry; `null` when there are none. */
  current(): Promise<Tokens | null>;
  /**
   * Better tokens than those that the server refused with 401.
   * @param mayRefresh `false` after a refresh brought tokens that were refused too
   */
  renew(refused: Tokens | null, challenge: ServerChallenge, mayRefresh: boolean): Promise<Renewal>;
  /** Tokens with the scopes that an operation lacks; `null` when asking would bring nothing. */
  stepUp(short: Tokens, challenge: ServerChallenge): Promise<Tokens | null>;
  /** Gets tokens because the host asks for it. */
  obtain(challenge: ServerChallenge, prompt: string | null): Promise<Tokens>;
  /** Keeps tokens that a sign-in in two halves brought. Tells what they replace; `null`: nothing. */
  keep(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null>;
  /** The newest record, with its issuer. */
  record(): Promise<CredentialRecord | null>;
  /** Forgets what it knows, so that the store is read again. */
  forget(): void;
}

export interface AccessHands {
  readonly obtainer: Obtainer;
  readonly refresher: Refresher;
  /** Ends at the authorization server what newer tokens have replaced here. Never throws. */
  readonly endReplaced: (replaced: CredentialRecord, discovery: Discovery) => Promise<void>;
}

interface Wish {
  readonly reason: SignInReason;
  readonly challenge: ServerChallenge;
  readonly plan: Planner;
  readonly prompt: string | null;
  /** Tokens in the store that differ from these are somebody's newer ones. */
  readonly refused: Tokens | null;
}

/** Milliseconds for a lock that nobody holds for long. */
const PATIENCE = 500;

/** Makes the session of a client. */
export function createAccess(configuration: Configuration, hands: AccessHands): Access {
  const { store, server, account, clock, limits, grant, tell } = configuration;
  const byMachine = grant.kind !== 'person' && grant.kind !== 'device';
  let known: { readonly key: CredentialKey; readonly tokens: Tokens } | null = null;
  let refreshing: Promise<Tokens | null> | null = null;
  let obtaining: Promise<Tokens | null> | null = null;
  /** Scopes of step-ups in this process: a person who switches one off again has decided. */
  const askedAgain = new Set<string>();
  /** Whether the session that stood has ended since. */
  let ended = false;
  let failed: { readonly error: ClientError; readonly until: number } | null = null;

  return {
    peek: () => (known !== null && !isStale(known.tokens, clock()) ? known.tokens : null),
    current,
    renew,
    stepUp,
    async obtain(challenge, prompt) {
      failed = null;
      const tokens = await obtainOnce({
        reason: 'asked_for',
        challenge,
        plan: hands.obtainer.planFirst,
        prompt,
        refused: null,
      });
      if (tokens === null) throw new ClientError('sign_in_needed', 'Nothing was asked for.');
      return tokens;
    },
    keep,
    record: newestRecord,
    forget() {
      known = null;
    },
  };

  async function current(): Promise<Tokens | null> {
    if (known === null) await load();
    if (known === null) return null;
    if (!isStale(known.tokens, clock())) return known.tokens;
    if (byMachine) return renewByMachine(known.tokens);
    if (known.tokens.refreshToken === null) return known.tokens;
    return refreshOnce(known);
  }

  /** Whoever needs nobody's consent gets new tokens before the old ones end. */
  async function renewByMachine(stale: Tokens): Promise<Tokens | null> {
    const plan = (): ScopePlan => ({ scopes: stale.requestedScopes, reasons: ['the same as before'] });
    try {
      return await obtainOnce({
        reason: 'session_ended',
        challenge: NO_CHALLENGE,
        plan,
        prompt: null,
        refused: stale,
      });
    } catch (error) {
      if (error instanceof ClientError && error.temporary && !isExpired(stale, clock())) return stale;
      throw error;
    }
  }

  /** All who need it wait for one refresh. */
  function refreshOnce(stale: {
    readonly key: CredentialKey;
    readonly tokens: Tokens;
  }): Promise<Tokens | null> {
    refreshing ??= refresh(stale).finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  async function refresh({ key, tokens }: { key: CredentialKey; tokens: Tokens }): Promise<Tokens | null> {
    const result = await hands.refresher.refresh(key, tokens);
    switch (result.kind) {
      case 'renewed':
        known = { key, tokens: result.tokens };
        return result.tokens;
      case 'ended':
        known = null;
        ended = true;
        return null;
      case 'postponed':
        // The access token may outlive the outage.
        if (!isExpired(tokens, clock())) return tokens;
        throw result.error;
    }
  }

  async function renew(
    refused: Tokens | null,
    challenge: ServerChallenge,
    mayRefresh: boolean,
  ): Promise<Renewal> {
    await load();
    if (known !== null && known.tokens.accessToken !== refused?.accessToken) {
      return { tokens: known.tokens, by: 'adopted' };
    }
    if (mayRefresh && known !== null && known.tokens.refreshToken !== null && !byMachine) {
      const tokens = await refreshOnce(known);
      if (tokens !== null && tokens.accessToken !== refused?.accessToken) return { tokens, by: 'refreshed' };
    }
    const reason: SignInReason = ended ? 'session_ended' : refused === null ? 'no_tokens' : 'tokens_refused';
    const tokens = await obtainOnce({
      reason,
      challenge,
      plan: hands.obtainer.planFirst,
      prompt: null,
      refused,
    });
    if (tokens === null) throw new ClientError('sign_in_needed', 'Nothing was asked for.');
    return { tokens, by: 'obtained' };
  }

  async function stepUp(short: Tokens, challenge: ServerChallenge): Promise<Tokens | null> {
    await load();
    if (known !== null && known.tokens.accessToken !== short.accessToken) return known.tokens;
    const needed = challenge.scopes ?? [];
    const before = { requested: short.requestedScopes, granted: short.scopes };
    const plan: Planner = async (discovery) => {
      const again = configuration.stepUpAgain && needed.some((scope) => !askedAgain.has(scope));
      const wider = planStepUp(discovery, needed, before, again);
      if (wider === null) return null;
      const had = again ? before.granted : before.requested;
      const added = wider.scopes.filter((scope) => !had.includes(scope));
      for (const scope of needed) askedAgain.add(scope);
      tell({ type: 'step_up', added });
      return (await configuration.confirmStepUp(added)) ? wider : null;
    };
    return obtainOnce({ reason: 'more_scopes', challenge, plan, prompt: null, refused: short });
  }

  /** All who need tokens wait for one sign-in; one that failed for good is not repeated at once. */
  function obtainOnce(wish: Wish): Promise<Tokens | null> {
    if (failed !== null && clock() < failed.until) return Promise.reject(failed.error);
    obtaining ??= obtainAlone(wish).finally(() => {
      obtaining = null;
    });
    return obtaining;
  }

  /** Processes that share the store sign in one after the other, and the later ones find what the first one brought. */
  async function obtainAlone(wish: Wish): Promise<Tokens | null> {
    const release = await lockPatiently(`sign in ${server} ${account}`);
    try {
      await load();
      const newer = known !== null && known.tokens.accessToken !== wish.refused?.accessToken;
      if (known !== null && newer && wish.reason !== 'asked_for') {
        return known.tokens;
      }
      return await obtain(wish);
    } catch (error) {
      if (error instanceof ClientError && !error.temporary)
        failed = { error, until: clock() + limits.coolDown };
      throw error;
    } finally {
      await release();
    }
  }

  /** Whoever waits for another's sign-in is told so. */
  async function lockPatiently(name: string): Promise<Release> {
    const late = setTimeout(() => tell({ type: 'sign_in_waits', server, account }), PATIENCE);
    try {
      return await store.lock(name);
    } finally {
      clearTimeout(late);
    }
  }

  async function obtain(wish: Wish): Promise<Tokens | null> {
    const prepared = await hands.obtainer.prepare(wish.challenge, wish.plan);
    if (prepared === null) return null;
    const { issuer } = prepared.discovery;
    const { scopes, reasons } = prepared.plan;
    tell({ type: 'sign_in', issuer, reason: wish.reason, scopes, scopeReasons: reasons });
    const key: CredentialKey = { server, issuer, account };
    // The sign-in may register the client anew; what it replaces belongs to the registration before.
    const before = await store.find(key);
    const tokens = await hands.obtainer.obtain(key, prepared, wish.prompt);
    const replaced = await keep(key, tokens);
    if (replaced !== null && !byMachine) {
      const registration = before?.registration ?? replaced.registration;
      await hands.endReplaced({ ...replaced, registration }, prepared.discovery);
    }
    return tokens;
  }

  async function keep(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null> {
    const release = await store.lock(`refresh ${keyText(key)}`);
    let record: CredentialRecord | null = null;
    try {
      record = await store.find(key);
      await store.save({ key, registration: record?.registration ?? null, tokens });
      await forgetOtherIssuers(key);
      known = { key, tokens };
      failed = null;
      ended = false;
    } finally {
      await release();
    }
    tell({ type: 'tokens_obtained', issuer: key.issuer, scopes: tokens.scopes, scheme: tokens.scheme });
    return record?.tokens == null ? null : record;
  }

  /** The server has moved to another authorization server: tokens of the old one are of no more use. */
  async function forgetOtherIssuers(key: CredentialKey): Promise<void> {
    for (const record of await store.list(server, account)) {
      if (record.key.issuer === key.issuer || record.tokens === null) continue;
      await store.save({ ...record, tokens: null });
      tell({
        type: 'session_ended',
        issuer: record.key.issuer,
        reason: 'the server has another authorization server now',
      });
    }
  }

  async function load(): Promise<void> {
    const record = await newestRecord();
    known = record === null || record.tokens === null ? null : { key: record.key, tokens: record.tokens };
  }

  async function newestRecord(): Promise<CredentialRecord | null> {
    const records = (await store.list(server, account)).filter(({ tokens }) => tokens !== null);
    const age = (record: CredentialRecord): number => record.tokens?.obtainedAt ?? 0;
    return records.toSorted((left, right) => age(right) - age(left))[0] ?? null;
  }
}
