/** Provider token revocation jobs, an outbox: tokens of grants that ended here are revoked at the provider, with retries. */
import { OAuthError } from '@portcullis/protocol';
import type { AuthorizationEvent, EventSink } from '../audit/events.ts';
import type { ServerContext } from '../context.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { toIdentityProviderError } from './provider/error.ts';
import { type ProviderTokenSet, providerTokensContext } from './provider/token-set.ts';
import type { FindTokenIssuer } from './token-issuer.ts';
import type { TokenVault } from './token-vault.ts';

export interface RevocationJobs {
  /** Runs due jobs soon, because something has ended. */
  runSoon(): void;
  /** Finishes the jobs in progress and starts no more. */
  close(): Promise<void>;
}

/** Milliseconds between runs, and from `runSoon` to the run. */
const DELAYS = { regular: 5_000, soon: 20 };
/** Jobs claimed at a time. */
const BATCH_SIZE = 20;
/** Seconds that a process has for its batch before another may claim it. */
const CLAIM_DURATION = 120;
/** Seconds by which clocks of processes may differ. */
const CLOCK_SKEW = 300;
/** Milliseconds between rotations of the data keys, which are done along the way. */
const ROTATE_DATA_KEYS_EVERY = 3_600_000;
/** Seconds before the next attempt, doubled each time: all attempts together take a day and a half. */
const RETRY = { first: 30, max: 6 * 3600, tries: 14 };

/** Jobs are stored: any process of the same store runs them. */
export function createRevocationJobs(
  context: ServerContext,
  vault: TokenVault,
  findIssuer: FindTokenIssuer,
): RevocationJobs {
  const { store, clock, events } = context;
  const runJob = createRunJob(context, vault, findIssuer);
  /** Grants revoked before have been handled. */
  let handledUntil = 0;
  let dataKeysRotatedAt = 0;

  /** Without the store there is nothing to do: the jobs are in it. */
  async function run(isClosed: () => boolean): Promise<void> {
    try {
      await runDueJobs(isClosed);
      await rotateDataKeys();
    } catch (error) {
      if (!(error instanceof OAuthError)) {
        events({ type: 'request.failed', endpoint: 'revocation-jobs', reason: String(error) });
      }
    }
  }

  async function runDueJobs(isClosed: () => boolean): Promise<void> {
    const now = clock();
    await store.endProviderTokensOfRevokedGrants(handledUntil, now);
    handledUntil = now - CLOCK_SKEW;
    for (;;) {
      const claimed = await store.claimRevocationJobs(clock(), clock() + CLAIM_DURATION, BATCH_SIZE);
      await Promise.all(claimed.map(runJob));
      if (claimed.length < BATCH_SIZE || isClosed()) return;
    }
  }

  async function rotateDataKeys(): Promise<void> {
    if (Date.now() - dataKeysRotatedAt < ROTATE_DATA_KEYS_EVERY) return;
    await vault.rotateDataKeys();
    dataKeysRotatedAt = Date.now();
  }

  return repeat(run);
}

/** Runs regularly, and soon after `runSoon`; never twice at a time. */
function repeat(run: (isClosed: () => boolean) => Promise<void>): RevocationJobs {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isRequested = false;
  let isClosed = false;

  function schedule(delay: number): void {
    if (isClosed || running !== null) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      running = run(() => isClosed).finally(() => {
        running = null;
        schedule(isRequested ? DELAYS.soon : DELAYS.regular);
        isRequested = false;
      });
    }, delay);
    timer.unref();
  }

  schedule(DELAYS.soon);
  return {
    runSoon() {
      isRequested = true;
      schedule(DELAYS.soon);
    },
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}

type RevocationOutcome = 'revoked' | 'unsupported' | 'shared' | 'nothing';

/** Makes the function that runs one claimed job: the tokens are revoked and deleted, or the job is postponed, but not forever. */
function createRunJob(
  { store, clock, events }: ServerContext,
  vault: TokenVault,
  findIssuer: FindTokenIssuer,
): (record: ProviderTokensRecord) => Promise<void> {
  return async (record) => {
    try {
      await complete(record, { outcome: await revoke(record) });
    } catch (cause) {
      const { message, retryAfter } = toIdentityProviderError(cause);
      if (record.revocationAttempts >= RETRY.tries) {
        return complete(record, { outcome: 'given_up', reason: message });
      }
      const delay = Math.max(retryDelay(record), retryAfter ?? 0);
      await store.postponeRevocationJob(record.grantId, clock() + delay);
    }
  };

  async function complete(
    { grantId, accountId, identityProvider }: ProviderTokensRecord,
    result: { readonly outcome: RevocationOutcome | 'given_up'; readonly reason?: string },
  ): Promise<void> {
    await store.completeRevocationJob(grantId);
    events({ type: 'provider_token.revocation_finished', identityProvider, grantId, accountId, ...result });
  }

  async function revoke(record: ProviderTokensRecord): Promise<RevocationOutcome> {
    const issuer = findIssuer(record.identityProvider);
    if (record.encryptedTokens === null) return 'nothing';
    if (issuer === undefined) return 'unsupported';
    // If revoking one token ends all access of the user there, it waits for the last grant, so that other clients retain theirs.
    if (issuer.revocationEnds === 'everything') {
      const others = await store.countProviderTokensOfIdentity(record.issuer, record.subject, record.grantId);
      if (others > 0) return 'shared';
    }
    const tokens = await vault.decrypt<ProviderTokenSet>(
      record.encryptedTokens,
      providerTokensContext(record.grantId),
    );
    return issuer.client.revoke(tokens);
  }
}

function retryDelay({ revocationAttempts }: ProviderTokensRecord): number {
  return Math.min(RETRY.max, RETRY.first * 2 ** (revocationAttempts - 1));
}

/** Events after which grants, and with them their provider tokens, may have ended. */
const TRIGGERING_EVENTS: readonly AuthorizationEvent['type'][] = [
  'grant.revoked', 'account.disabled', 'account.removed', 'provider_token.ended', 'provider_token.discarded', 'client.removed',
  'authorization_code.replayed', 'refresh_token.reuse_detected', 'token.revoked',
]; // biome-ignore format: one list

export interface RevocationTrigger {
  /** The same sink; events that may end grants notify the subscriber. */
  watch(sink: EventSink): EventSink;
  /** Sets the subscriber; there is one at a time. */
  subscribe(listener: () => void): void;
}

/** Runs revocation jobs soon after events that may end grants. Exists before the jobs do, because they emit events themselves. */
export function createRevocationTrigger(): RevocationTrigger {
  let notify = (): void => undefined;
  return {
    watch: (sink) => (event) => {
      sink(event);
      if (TRIGGERING_EVENTS.includes(event.type)) notify();
    },
    subscribe(listener) {
      notify = listener;
    },
  };
}
