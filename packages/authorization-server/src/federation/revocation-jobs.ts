/** Token revocation jobs, an outbox: tokens of grants that ended here are revoked at their issuer, with retries. */
import { OAuthError } from '@portcullis/protocol';
import type { AuthorizationEvent, EventSink } from '../audit/events.ts';
import type { ServerContext } from '../context.ts';
import type { UpstreamTokens } from '../store/index.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider/error.ts';
import type { ProviderTokenSet } from './provider/token-set.ts';
import type { TokenRecords } from './token-records.ts';
import type { TokenVault } from './token-vault.ts';

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

export type RevocationQueue = ReturnType<typeof createRevocationQueue>;

/** The jobs of one kind of tokens. */
export function createRevocationQueue<TokensRecord extends UpstreamTokens, TokenSet extends ProviderTokenSet>(
  context: Pick<ServerContext, 'clock' | 'events'>,
  vault: TokenVault,
  records: TokenRecords<TokensRecord, TokenSet>,
) {
  const { clock } = context;
  const runJob = createRunJob(context, vault, records);
  /** Grants revoked before have been handled. */
  let handledUntil = 0;
  return {
    /** Runs the jobs that are due. @param isClosed whether to start no more */
    async runDue(isClosed: () => boolean): Promise<void> {
      const now = clock();
      await records.endOfRevokedGrants(handledUntil, now);
      handledUntil = now - CLOCK_SKEW;
      for (;;) {
        const claimed = await records.claimRevocations(clock(), clock() + CLAIM_DURATION, BATCH_SIZE);
        await Promise.all(claimed.map(runJob));
        if (claimed.length < BATCH_SIZE || isClosed()) return;
      }
    },
  };
}

/**
 * Starts the jobs of the kinds of tokens that are in use; `null`: none is. Jobs are stored: any process of the same store runs them.
 * @throws ConfigurationError if the master key does not decrypt the data keys
 */
export async function startRevocationJobs(
  { events }: Pick<ServerContext, 'events'>,
  vault: TokenVault,
  trigger: RevocationTrigger,
  queues: readonly (RevocationQueue | null)[],
): Promise<{ close(): Promise<void> } | null> {
  const used = queues.filter((queue) => queue !== null);
  if (used.length === 0) return null;
  await vault.load();
  let dataKeysRotatedAt = 0;
  const jobs = repeat(run);
  trigger.subscribe(jobs.runSoon);
  return jobs;

  /** Without the store there is nothing to do: the jobs are in it. */
  async function run(isClosed: () => boolean): Promise<void> {
    try {
      for (const queue of used) await queue.runDue(isClosed);
      await rotateDataKeys();
    } catch (error) {
      if (!(error instanceof OAuthError)) {
        events({ type: 'request.failed', endpoint: 'revocation-jobs', reason: String(error) });
      }
    }
  }

  async function rotateDataKeys(): Promise<void> {
    if (Date.now() - dataKeysRotatedAt < ROTATE_DATA_KEYS_EVERY) return;
    await vault.rotateDataKeys();
    dataKeysRotatedAt = Date.now();
  }
}

/** Runs regularly, and soon after `runSoon`; never twice at a time. */
function repeat(run: (isClosed: () => boolean) => Promise<void>) {
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
    runSoon(): void {
      isRequested = true;
      schedule(DELAYS.soon);
    },
    /** Finishes what is in progress and starts no more. */
    async close(): Promise<void> {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}

type RevocationOutcome = 'revoked' | 'unsupported' | 'shared' | 'nothing';

/** Makes the function that runs one claimed job: the tokens are revoked and deleted, or the job is postponed, but not forever. */
function createRunJob<TokensRecord extends UpstreamTokens, TokenSet extends ProviderTokenSet>(
  { clock, events }: Pick<ServerContext, 'clock' | 'events'>,
  vault: TokenVault,
  records: TokenRecords<TokensRecord, TokenSet>,
): (tokens: TokensRecord) => Promise<void> {
  return async (tokens) => {
    try {
      await complete(tokens, { outcome: await revoke(tokens) });
    } catch (cause) {
      const { message, retryAfter } = toIdentityProviderError(cause);
      if (tokens.revocationAttempts >= RETRY.tries) {
        return complete(tokens, { outcome: 'given_up', reason: message });
      }
      const delay = Math.min(RETRY.max, RETRY.first * 2 ** (tokens.revocationAttempts - 1));
      await records.postponeRevocation(tokens, clock() + Math.max(delay, retryAfter ?? 0));
    }
  };

  async function complete(
    tokens: TokensRecord,
    result: { readonly outcome: RevocationOutcome | 'given_up'; readonly reason?: string },
  ): Promise<void> {
    await records.completeRevocation(tokens);
    events({ type: 'provider_token.revocation_finished', ...records.about(tokens), ...result });
  }

  async function revoke(tokens: TokensRecord): Promise<RevocationOutcome> {
    const issuer = records.findIssuer(tokens);
    if (tokens.encryptedTokens === null) return 'nothing';
    // Another process may know it: one whose configuration is newer, or without a mistake.
    if (issuer === undefined) throw new IdentityProviderError('outage', 'its issuer is not configured');
    // Then it waits for the last grant, so that other clients keep their access.
    if (await records.isShared(tokens)) return 'shared';
    const context = records.encryptionContext(tokens);
    return issuer.revoke(await vault.decrypt<TokenSet>(tokens.encryptedTokens, context));
  }
}

/** Events after which grants, and with them tokens of other issuers, may have ended. */
const TRIGGERING_EVENTS: readonly AuthorizationEvent['type'][] = [
  'grant.revoked', 'account.disabled', 'account.removed', 'provider_token.ended', 'provider_token.discarded', 'client.removed',
  'authorization_code.replayed', 'refresh_token.reuse_detected', 'token.revoked',
]; // biome-ignore format: one list

export type RevocationTrigger = ReturnType<typeof createRevocationTrigger>;

/** Runs revocation jobs soon after events that may end grants. Exists before the jobs do, because they emit events themselves. */
export function createRevocationTrigger() {
  let notify = (): void => undefined;
  return {
    /** The same sink; events that may end grants notify the subscriber. */
    watch:
      (sink: EventSink): EventSink =>
      (event) => {
        sink(event);
        if (TRIGGERING_EVENTS.includes(event.type)) notify();
      },
    /** Sets the subscriber; there is one at a time. */
    subscribe(listener: () => void): void {
      notify = listener;
    },
  };
}
