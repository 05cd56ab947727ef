/** One sign-in at a time, in this process and among all that share the store; one that failed for good is not repeated at once. */

import { isMachineGrant } from '../authorization/grant-settings.ts';
import type { ServerChallenge } from '../discovery/challenge.ts';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError } from '../errors.ts';
import type { SignInReason } from '../events.ts';
import { credentialKeyFor } from '../registration/credential-owner.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialRecord, Unlock } from '../storage/credential-store.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { Obtainer, Planner } from './obtainer.ts';
import type { KnownTokens } from './stored-tokens.ts';

/** Why tokens are wanted, and which. */
export interface Wish {
  readonly reason: SignInReason;
  readonly challenge: ServerChallenge;
  readonly plan: Planner;
  readonly prompt: string | null;
  /** Tokens in the store that differ from these are somebody's newer ones. */
  readonly refused: Tokens | null;
}

export interface ObtainOnce {
  /**
   * Gets tokens, or joins the sign-in that is under way; `null`: the plan was to ask for nothing.
   * @throws ClientError of the failure, also of one before that has not cooled down yet.
   */
  obtain(wish: Wish): Promise<Tokens | null>;
  /** The next one is tried whatever became of the last. */
  forgive(): void;
}

/** What getting tokens anew is done with. */
export interface ObtainHands {
  readonly known: KnownTokens;
  readonly obtainer: Obtainer;
  /** Ends at the authorization server what newer tokens have replaced here. Never throws. */
  readonly endReplaced: (replaced: CredentialRecord, discovery: DiscoveryResult) => Promise<void>;
}

/** Milliseconds for a lock that nobody holds for long. */
const PATIENCE = 500;

/** Makes the room. */
export function createObtainOnce(configuration: ClientSettings, hands: ObtainHands): ObtainOnce {
  const { store, server, account, clock, limits, grant, emit: tell } = configuration;
  const { known, obtainer, endReplaced } = hands;
  let running: Promise<Tokens | null> | null = null;
  let failed: { readonly error: ClientError; readonly until: number } | null = null;

  return {
    obtain(wish) {
      if (failed !== null && clock() < failed.until) return Promise.reject(failed.error);
      running ??= obtainAlone(wish).finally(() => {
        running = null;
      });
      return running;
    },
    forgive() {
      failed = null;
    },
  };

  /** Processes that share the store sign in one after the other, and the later ones find what the first one brought. */
  async function obtainAlone(wish: Wish): Promise<Tokens | null> {
    const release = await lockPatiently(['sign in', server, account, ...programOf(configuration)].join(' '));
    try {
      const latest = await known.load();
      const isNewer = latest !== null && latest.tokens.accessToken !== wish.refused?.accessToken;
      if (isNewer && wish.reason !== 'requested') return latest.tokens;
      return await obtainNow(wish);
    } catch (error) {
      if (error instanceof ClientError && !error.temporary)
        failed = { error, until: clock() + limits.cooldown };
      throw error;
    } finally {
      await release();
    }
  }

  /** Whoever waits for another's sign-in is told so. */
  async function lockPatiently(name: string): Promise<Unlock> {
    const late = setTimeout(() => tell({ type: 'sign_in.waiting', server, account }), PATIENCE);
    try {
      return await store.lock(name);
    } finally {
      clearTimeout(late);
    }
  }

  async function obtainNow({ reason, challenge, plan, prompt }: Wish): Promise<Tokens | null> {
    const prepared = await obtainer.prepare(challenge, plan);
    if (prepared === null) return null;
    const { issuer } = prepared.discovery;
    const { scopes, reasons } = prepared.plan;
    tell({ type: 'sign_in.started', issuer, reason, scopes, scopeReasons: reasons });
    const key = credentialKeyFor(configuration, issuer);
    // The sign-in may register the client anew; what it replaces belongs to the registration before.
    const before = await store.find(key);
    const tokens = await obtainer.obtain(key, prepared, prompt);
    const replaced = await known.keep(key, tokens);
    failed = null;
    if (replaced !== null && !isMachineGrant(grant)) {
      const registration = before?.registration ?? replaced.registration;
      await endReplaced({ ...replaced, registration }, prepared.discovery);
    }
    return tokens;
  }
}

/** A program waits for no person, and for no other program. */
function programOf({ grant, registration: { preregistered = [] } }: ClientSettings): readonly string[] {
  return isMachineGrant(grant) ? [grant.kind, ...preregistered.map(({ clientId }) => clientId)] : [];
}
