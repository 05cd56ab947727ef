/** The session with one server: which tokens are sent, when they are renewed, and when somebody has to be asked again. */

import { isMachineGrant } from '../authorization/grant-settings.ts';
import type { ScopePlan } from '../authorization/scope-plan.ts';
import { NO_CHALLENGE, type ServerChallenge } from '../discovery/challenge.ts';
import { ClientError } from '../errors.ts';
import type { SignInReason } from '../events.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialKey, CredentialRecord } from '../storage/credential-store.ts';
import { isExpired, isStale, type Tokens } from '../token-endpoint/token-response.ts';
import { createObtainOnce, type ObtainHands, type Wish } from './obtain-once.ts';
import { createRefreshOnce } from './refresh-once.ts';
import type { Refresher } from './refresher.ts';
import { createStepUpPlanner } from './step-up.ts';
import { createKnownTokens } from './stored-tokens.ts';

/** How tokens were renewed after a refusal. */
export interface RenewedTokens {
  readonly tokens: Tokens;
  /** `adopted`: somebody else had renewed them. */
  readonly by: 'adopted' | 'refreshed' | 'obtained';
}

export interface TokenManager {
  /** Tokens that need no renewal, without waiting; `null`: ask `current`. */
  peek(): Tokens | null;
  /** The tokens to send, renewed ahead of their expiry; `null` when there are none. */
  current(): Promise<Tokens | null>;
  /**
   * Better tokens than those that the server refused with 401.
   * @param mayRefresh `false` after a refresh brought tokens that were refused too
   */
  renew(refused: Tokens | null, challenge: ServerChallenge, mayRefresh: boolean): Promise<RenewedTokens>;
  /** Tokens with the scopes that an operation lacks; `null` when asking would bring nothing. */
  stepUp(short: Tokens, challenge: ServerChallenge): Promise<Tokens | null>;
  /** Gets tokens because the host asks for it. */
  obtain(challenge: ServerChallenge, prompt: string | null): Promise<Tokens>;
  /** Keeps tokens that a sign-in in two halves brought. Tells what they replace; `null`: nothing. */
  keep(key: CredentialKey, tokens: Tokens): Promise<CredentialRecord | null>;
  /** The newest record, with its issuer. */
  record(): Promise<CredentialRecord | null>;
  /** Removes the tokens, once a refresh that is under way has brought the last of them. Tells what ended; `null`: nothing. */
  end(): Promise<CredentialRecord | null>;
}

export interface AccessHands extends Omit<ObtainHands, 'known'> {
  readonly refresher: Refresher;
}

/** Makes the session of a client. */
export function createTokenManager(configuration: ClientSettings, hands: AccessHands): TokenManager {
  const { clock, grant } = configuration;
  const { planFirst } = hands.obtainer;
  const known = createKnownTokens(configuration);
  const refreshOnce = createRefreshOnce(configuration, known, hands.refresher);
  const once = createObtainOnce(configuration, { ...hands, known });
  const planStepUp = createStepUpPlanner(configuration);

  return {
    peek() {
      const tokens = known.latest()?.tokens ?? null;
      return tokens !== null && !isStale(tokens, clock()) ? tokens : null;
    },
    current,
    renew,
    async stepUp(short, challenge) {
      const latest = await known.load();
      if (latest !== null && latest.tokens.accessToken !== short.accessToken) return latest.tokens;
      const plan = planStepUp(short, challenge.scopes ?? []);
      return once.obtain({ reason: 'insufficient_scope', challenge, plan, prompt: null, refused: short });
    },
    async obtain(challenge, prompt) {
      once.forgive();
      return obtainSome({ reason: 'requested', challenge, plan: planFirst, prompt, refused: null });
    },
    async keep(key, tokens) {
      const replaced = await known.keep(key, tokens);
      once.forgive();
      return replaced;
    },
    record: known.record,
    end: known.remove,
  };

  async function current(): Promise<Tokens | null> {
    const latest = known.latest() ?? (await known.load());
    if (latest === null) return null;
    const { tokens } = latest;
    if (!isStale(tokens, clock())) return tokens;
    if (isMachineGrant(grant)) return renewAlone(tokens);
    return tokens.refreshToken === null ? tokens : refreshOnce(latest);
  }

  /** Whoever needs nobody's consent gets new tokens before the old ones end. */
  async function renewAlone(stale: Tokens): Promise<Tokens | null> {
    const plan = (): ScopePlan => ({ scopes: stale.requestedScopes, reasons: ['the same as before'] });
    const reason = 'session_ended';
    try {
      return await once.obtain({ reason, challenge: NO_CHALLENGE, plan, prompt: null, refused: stale });
    } catch (error) {
      if (error instanceof ClientError && error.temporary && !isExpired(stale, clock())) return stale;
      throw error;
    }
  }

  async function renew(
    refused: Tokens | null,
    challenge: ServerChallenge,
    mayRefresh: boolean,
  ): Promise<RenewedTokens> {
    const latest = await known.load();
    if (latest !== null && latest.tokens.accessToken !== refused?.accessToken) {
      return { tokens: latest.tokens, by: 'adopted' };
    }
    if (mayRefresh && latest !== null && latest.tokens.refreshToken !== null && !isMachineGrant(grant)) {
      const tokens = await refreshOnce(latest);
      if (tokens !== null && tokens.accessToken !== refused?.accessToken) return { tokens, by: 'refreshed' };
    }
    const reason = reasonAfter(refused);
    const tokens = await obtainSome({ reason, challenge, plan: planFirst, prompt: null, refused });
    return { tokens, by: 'obtained' };
  }

  function reasonAfter(refused: Tokens | null): SignInReason {
    if (known.hasEnded()) return 'session_ended';
    return refused === null ? 'no_tokens' : 'tokens_rejected';
  }

  async function obtainSome(wish: Wish): Promise<Tokens> {
    const tokens = await once.obtain(wish);
    if (tokens === null) throw new ClientError('sign_in_needed', 'Nothing was asked for.');
    return tokens;
  }
}
