/** Pushes the tokens of streams to their receivers, by the delivery loop of webhooks: at least once, those of a user in order. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboundSettings, SecurityEventKeys } from '@portcullis/authorization-server';
import type { AuditEventRecord, EventStreamRecord } from '@portcullis/authorization-server/store';
import { createDelivery, type Delivery, type DeliveryReport } from '../webhooks/delivery.ts';
import { createPost, DELIVERED, failedBy, type SendEvent } from '../webhooks/send.ts';
import { STREAM_EVENTS } from './security-events.ts';
import type { FindStreamTokens } from './stream-tokens.ts';
import type { TransmitterStore } from './streams.ts';

interface PushDependencies {
  readonly store: TransmitterStore;
  readonly findTokens: FindStreamTokens;
  readonly keys: SecurityEventKeys;
  readonly outbound: OutboundSettings;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly report: (stream: EventStreamRecord, report: DeliveryReport) => void;
}

export type PushDelivery = ReturnType<typeof createPushDelivery>;

/** Milliseconds for which a look at the streams waits for their receivers. */
const PATIENCE = 1_000;

/** The delivery of one version of a stream. */
interface RunningDelivery extends Delivery {
  readonly version: number;
  readonly stopping: AbortController;
  /** Settles when nothing is left to send, or it was stopped; `null`: it does not run. */
  running: Promise<void> | null;
}

/** The delivery of all streams that are pushed, in this process. */
export function createPushDelivery(dependencies: PushDependencies) {
  const { store } = dependencies;
  /** By stream; one that was changed gets another. */
  const deliveries = new Map<string, RunningDelivery>();

  async function end(id: string, delivery: RunningDelivery): Promise<void> {
    delivery.stopping.abort();
    await delivery.running;
    await delivery.release();
    if (deliveries.get(id) === delivery) deliveries.delete(id);
  }

  async function deliverStream(stream: EventStreamRecord): Promise<void> {
    const { id, version } = stream;
    const known = deliveries.get(id);
    if (known !== undefined && known.version !== version) {
      const wasRunning = known.running !== null;
      await end(id, known);
      // The stream may have changed again: the next look reads it.
      if (wasRunning) return;
    }
    const current = deliveries.get(id) ?? createStreamDelivery(stream, dependencies);
    deliveries.set(id, current);
    current.running ??= deliverAll(current).finally(() => {
      current.running = null;
    });
    await current.running;
  }

  return {
    /** Delivers what each stream has. It waits for a second at most: a receiver that is slow goes on by itself. */
    async deliver(): Promise<void> {
      const streams = await store.listEventStreams();
      for (const stream of streams) await reencrypt(stream, dependencies);
      const pushed = await findPushed(streams, store);
      const isPushed = (id: string) => pushed.some((stream) => stream.id === id);
      const ended = [...deliveries].filter(([id]) => !isPushed(id));
      const looks = [
        ...ended.map(([id, delivery]) => end(id, delivery)),
        ...pushed.map((stream) => deliverStream(stream)),
      ];
      // A receiver that is slow or down holds up no other one.
      await Promise.race([Promise.allSettled(looks), sleep(PATIENCE, undefined, { ref: false })]);
    },
    /** Begins no more requests, and lets another process deliver after those in progress. */
    release: async (): Promise<void> =>
      void (await Promise.all([...deliveries].map(([id, delivery]) => end(id, delivery)))),
  };
}

/** The streams to push: not those of a client that is disabled, which gets nothing more until it is enabled. */
async function findPushed(
  streams: readonly EventStreamRecord[],
  store: Pick<TransmitterStore, 'findClient'>,
): Promise<readonly EventStreamRecord[]> {
  const pushed: EventStreamRecord[] = [];
  for (const stream of streams) {
    if (stream.endpoint === null || stream.status !== 'enabled') continue;
    // Clients of the configuration are not stored.
    const client = await store.findClient(stream.clientId);
    if (client === null || client.disabledAt === null) pushed.push(stream);
  }
  return pushed;
}

async function deliverAll({ deliver, stopping: { signal } }: RunningDelivery): Promise<void> {
  // An outage of the store ends it until the next look.
  while (!signal.aborted && (await deliver().catch(() => false)));
}

function createStreamDelivery(stream: EventStreamRecord, dependencies: PushDependencies): RunningDelivery {
  const { store, clock, report } = dependencies;
  const stopping = new AbortController();
  const delivery = createDelivery({
    webhook: { name: stream.id, types: STREAM_EVENTS },
    store,
    send: createSendTokens(stream, dependencies),
    clock,
    // "The events are transmitted in the order of time": those of a subject. @see Shared Signals Framework 1.0 §8.1.2.1
    laneOf: ({ accountId, id }: AuditEventRecord) => accountId ?? id,
    report: (one) => report(stream, one),
    isStopped: () => stopping.signal.aborted,
  });
  return { ...delivery, version: stream.version, stopping, running: null };
}

/** @see RFC 8935 §2.1 */
function createSendTokens(
  stream: EventStreamRecord,
  { findTokens, keys, outbound }: PushDependencies,
): SendEvent {
  const { id, endpoint, encryptedAuthorization } = stream;
  const post = createPost(endpoint ?? '', outbound, { isTrusted: false, findObstacle });
  return async (event) => {
    try {
      for (const token of await findTokens(stream, event)) {
        const authorization = encryptedAuthorization && keys.decrypt(encryptedAuthorization, id);
        const headers = {
          'content-type': 'application/secevent+jwt',
          accept: 'application/json',
          ...(authorization !== null && { authorization }),
        };
        const attempt = await post(headers, await token.sign());
        if (attempt.kind !== 'delivered') return attempt;
      }
      return DELIVERED;
    } catch (error) {
      // The store is unavailable, or the authorization cannot be decrypted.
      return failedBy(error, 'unavailable');
    }
  };
}

/** An error about this transmitter, and not about the token: its receiver may solve it. @see RFC 8935 §2.4 */
function findObstacle(body: string): string | null {
  const code = /"err"\s*:\s*"(authentication_failed|access_denied)"/.exec(body)?.[1];
  return code === undefined ? null : `the receiver responds with ${code}`;
}

/**
 * Under a new master key, while the one before still decrypts: also for a stream that is paused, or has nothing to send. Only once the
 * signing keys are under it: before `keys reencrypt`, other processes may still go by the one before, and would change it back.
 */
async function reencrypt(
  stream: EventStreamRecord,
  { keys, store }: Pick<PushDependencies, 'keys' | 'store'>,
): Promise<void> {
  const { id, encryptedAuthorization, version } = stream;
  if (encryptedAuthorization === null || keys.isCurrent(encryptedAuthorization)) return;
  const signingKeys = await store.listSigningKeys();
  if (!signingKeys.every(({ encryptedPrivateKey }) => keys.isCurrent(encryptedPrivateKey))) return;
  let text: string;
  try {
    text = keys.decrypt(encryptedAuthorization, id);
  } catch {
    // Under a key that this process does not have; each attempt to send says so.
    return;
  }
  const encrypted = keys.encrypt(text, id);
  await store.saveEventStream({ ...stream, encryptedAuthorization: encrypted, version: version + 1 });
}
