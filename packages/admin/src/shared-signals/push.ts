/** Pushes the tokens of streams to their receivers, by the delivery loop of webhooks: at least once, those of a user in order. */
import type { OutboundSettings, SecurityEventKeys } from '@portcullis/authorization-server';
import type { AuditEventRecord, EventStreamRecord } from '@portcullis/authorization-server/store';
import { createDelivery, type Delivery, type DeliveryReport } from '../webhooks/delivery.ts';
import { createPost, type DeliveryAttempt, type SendEvent } from '../webhooks/send.ts';
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

/** The delivery of all streams that are pushed, in this process. */
export interface PushDelivery {
  /** Delivers the next batch of each stream. @returns whether more may follow at once */
  deliver(): Promise<boolean>;
  /** Lets another process deliver. */
  release(): Promise<void>;
}

const DELIVERED: DeliveryAttempt = { kind: 'delivered', reason: null, retryAfter: 0 };

export function createPushDelivery(dependencies: PushDependencies): PushDelivery {
  const { store } = dependencies;
  /** By stream; one that was changed gets another. */
  const deliveries = new Map<string, { readonly version: number; readonly delivery: Delivery }>();

  async function deliveryOf(stream: EventStreamRecord): Promise<Delivery> {
    const known = deliveries.get(stream.id);
    if (known?.version === stream.version) return known.delivery;
    await known?.delivery.release();
    const delivery = createStreamDelivery(stream, dependencies);
    deliveries.set(stream.id, { version: stream.version, delivery });
    return delivery;
  }

  return {
    async deliver() {
      const streams = await store.listEventStreams();
      for (const stream of streams) await reencrypt(stream, dependencies);
      const pushed = streams.filter(({ endpoint, status }) => endpoint !== null && status === 'enabled');
      for (const [id, { delivery }] of deliveries) {
        if (pushed.some((stream) => stream.id === id)) continue;
        deliveries.delete(id);
        await delivery.release();
      }
      // A receiver that is slow or down holds up no other one.
      const deliver = async (stream: EventStreamRecord) => (await deliveryOf(stream)).deliver();
      const more = await Promise.all(pushed.map((stream) => deliver(stream).catch(() => false)));
      return more.includes(true);
    },
    release: async () =>
      void (await Promise.all([...deliveries.values()].map(({ delivery }) => delivery.release()))),
  };
}

function createStreamDelivery(stream: EventStreamRecord, dependencies: PushDependencies): Delivery {
  const { store, clock, report } = dependencies;
  return createDelivery({
    webhook: { name: stream.id, types: STREAM_EVENTS },
    store,
    send: createSendTokens(stream, dependencies),
    clock,
    // "The events are transmitted in the order of time": those of a subject. @see Shared Signals Framework 1.0 §8.1.2.1
    laneOf: ({ accountId, id }: AuditEventRecord) => accountId ?? id,
    report: (one) => report(stream, one),
  });
}

/** @see RFC 8935 §2.1 */
function createSendTokens(
  stream: EventStreamRecord,
  { findTokens, keys, outbound }: PushDependencies,
): SendEvent {
  const { id, endpoint, encryptedAuthorization } = stream;
  const post = createPost(endpoint ?? '', outbound, { isTrusted: false });
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
      return {
        kind: 'failed',
        reason: error instanceof Error ? error.message : 'unavailable',
        retryAfter: 0,
      };
    }
  };
}

/** Under a new master key, while the one before still decrypts: also for a stream that is paused, or has nothing to send. */
async function reencrypt(
  stream: EventStreamRecord,
  { keys, store }: Pick<PushDependencies, 'keys' | 'store'>,
): Promise<void> {
  const { id, encryptedAuthorization, version } = stream;
  if (encryptedAuthorization === null || keys.isCurrent(encryptedAuthorization)) return;
  const text = decryptIfPossible(keys, encryptedAuthorization, id);
  if (text === null) return;
  const encrypted = keys.encrypt(text, id);
  await store.saveEventStream({ ...stream, encryptedAuthorization: encrypted, version: version + 1 });
}

/** `null`: under a key that this process does not have; each attempt to send says so. */
function decryptIfPossible(keys: SecurityEventKeys, ciphertext: Uint8Array, id: string): string | null {
  try {
    return keys.decrypt(ciphertext, id);
  } catch {
    return null;
  }
}
