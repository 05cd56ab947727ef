/** Reads `subscriptions/listen` of a stateless backend, and reopens it when it breaks. */
import { type JsonFields, type Message, mediaType, readBodyMessages, withMeta } from '@portcullis/http';
import { FIRST_STREAM_DELAY, LAST_STREAM_DELAY } from '../../limits.ts';
import { metaKeys, reportedLists } from '../revisions.ts';

export interface Subscription {
  close(): void;
}

interface SubscriptionOptions {
  readonly capabilities: JsonFields;
  readonly uris: readonly string[];
  readonly frame: number;
  readonly openStream: (filter: JsonFields, signal: AbortSignal) => Promise<Response>;
  readonly receive: (message: Message) => void;
}

/** @returns `null` if the backend has nothing to report */
export function followSubscriptions({
  capabilities,
  uris,
  frame,
  openStream,
  receive,
}: SubscriptionOptions): Subscription | null {
  const filter = {
    ...reportedLists(capabilities),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
  if (Object.keys(filter).length === 0) return null;
  const closing = new AbortController();
  void follow();
  return { close: () => closing.abort() };

  async function follow(): Promise<void> {
    for (
      let delay = FIRST_STREAM_DELAY;
      !closing.signal.aborted;
      delay = Math.min(delay * 2, LAST_STREAM_DELAY)
    ) {
      try {
        const response = await openStream(filter, closing.signal);
        if (!response.ok || mediaType(response) !== 'text/event-stream')
          return void (await response.body?.cancel());
        for await (const message of readBodyMessages(response, frame)) {
          delay = FIRST_STREAM_DELAY;
          if (message.method !== undefined && message.method !== 'notifications/subscriptions/acknowledged')
            receive(withMeta(message, { [metaKeys.subscriptionId]: undefined }));
        }
      } catch {
        // Opened again below.
      }
      if (!closing.signal.aborted) await new Promise((done) => setTimeout(done, delay).unref());
    }
  }
}
