/** Obtains tokens once at a time: single flight within a process, a lock among processes, a cooldown after a failure, and a limit of automatic sign-ins. */
import { isMachineGrant } from '../authorization/grant-settings.ts';
import type { ServerChallenge } from '../discovery/challenge.ts';
import { signInLocation } from '../discovery/discovery-result.ts';
import { ClientError } from '../errors.ts';
import type { SignInReason } from '../events.ts';
import { credentialKeyFor } from '../registration/credential-owner.ts';
import type { ClientSettings } from '../settings.ts';
import type { Unlock } from '../storage/credential-store.ts';
import type { Tokens } from '../storage/credentials.ts';
import type { SessionRevocation } from './session-revocation.ts';
import type { StoredTokens } from './stored-tokens.ts';
import type { ScopePlanner, TokenSource } from './token-source.ts';

/** A request for new tokens. */
export interface TokenDemand {
  readonly reason: SignInReason;
  readonly challenge: ServerChallenge;
  readonly plan: ScopePlanner;
  readonly prompt: string | null;
  /** Stored tokens that differ from these are newer ones of another process. */
  readonly rejected: Tokens | null;
}

/** What obtaining tokens uses. */
export interface ObtainTokensServices {
  readonly stored: StoredTokens;
  readonly source: TokenSource;
  readonly revocation: Pick<SessionRevocation, 'revokeReplaced'>;
}

/** Milliseconds after which waiting for the sign-in lock is reported. */
const WAITING_NOTICE_DELAY = 500;

/**
 * Sign-ins that the user did not request, within `AUTOMATIC_WINDOW`. A server that accepts no token for long, or requires another
 * scope each time, could open the browser without end: its messages make a host send requests.
 */
const MAX_AUTOMATIC = 10;
/** Milliseconds. */
const AUTOMATIC_WINDOW = 600_000;

/** Creates the requests for tokens of a client. */
export function createObtainTokens(settings: ClientSettings, services: ObtainTokensServices) {
  const { store, server, account, clock, limits, grant, emit } = settings;
  const { stored, source, revocation } = services;
  let inFlight: Promise<Tokens | null> | null = null;
  let failure: { readonly error: ClientError; readonly until: number } | null = null;
  /** When the latest automatic sign-ins started. */
  let automatic: readonly number[] = [];

  return {
    /** Joins the request in progress, and rethrows a recent failure. Resolves to `null` when a request would gain nothing. */
    obtain(demand: TokenDemand): Promise<Tokens | null> {
      const left = failure === null ? 0 : failure.until - clock();
      // More is left of the cooldown than there was: the clock was ahead.
      if (failure !== null && left > 0 && left <= limits.cooldown) return Promise.reject(failure.error);
      inFlight ??= obtainLocked(demand).finally(() => {
        inFlight = null;
      });
      return inFlight;
    },
    /** Ends the cooldown after a failure, and the limit: the host requested tokens, or has them. */
    forgetFailure(): void {
      failure = null;
      automatic = [];
    },
  };

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

  /** @throws ClientError `sign_in_needed` */
  function checkAutomatic(): void {
    automatic = automatic.filter((startedAt) => Math.abs(clock() - startedAt) < AUTOMATIC_WINDOW);
    if (automatic.length < MAX_AUTOMATIC) return;
    throw new ClientError(
      'sign_in_needed',
      `${server} required ${MAX_AUTOMATIC} sign-ins within ten minutes, so no other one starts automatically. Sign in again yourself if you trust this server.`,
    );
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
    const isAutomatic = reason !== 'requested' && !isMachineGrant(grant);
    if (isAutomatic) checkAutomatic();
    const prepared = await source.prepare(challenge, plan, reason === 'requested' ? 'user' : 'client');
    if (prepared === null) return null;
    const { issuer } = prepared.discovery;
    const { scopes, reasons } = prepared.plan;
    const location = signInLocation(prepared.discovery);
    emit({ type: 'sign_in.started', issuer, location, reason, scopes, scopeReasons: reasons });
    const key = credentialKeyFor(settings, issuer);
    if (isAutomatic) automatic = [...automatic, clock()];
    const tokens = await source.obtain(prepared, prompt);
    const replaced = await stored.save(key, tokens);
    failure = null;
    if (replaced !== null && !isMachineGrant(grant))
      await revocation.revokeReplaced(replaced, prepared.discovery);
    return tokens;
  }
}

/** A program waits neither for a user's sign-in nor for another program. */
function machineClient({ grant, registration: { preregistered = [] } }: ClientSettings): readonly string[] {
  return isMachineGrant(grant) ? [grant.kind, ...preregistered.map(({ clientId }) => clientId)] : [];
}
