/** Reads `subscriptions/listen` of a stateless backend, and reopens it when it breaks. */
import { randomUUID } from 'node:crypto';
import { type JsonFields, type Message, mediaType, readBodyMessages, withMeta } from '@portcullis/http';
import { FIRST_STREAM_DELAY, LAST_STREAM_DELAY } from '../../limits.ts';
import { metaKeys, reportedLists } from '../revisions.ts';
import type { StatelessRequests } from './stateless-requests.ts';

interface SubscriptionOptions {
  readonly requests: Pick<StatelessRequests, 'post'>;
  readonly capabilities: JsonFields;
  readonly uris: readonly string[];
  readonly frame: number;
  readonly receive: (message: Message) => void;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
}

/** Does nothing if the backend has nothing to report. */
export async function followSubscriptions({
  requests,
  capabilities,
  uris,
  frame,
  receive,
  signal,
}: SubscriptionOptions): Promise<void> {
  const filter = {
    ...reportedLists(capabilities),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
  if (Object.keys(filter).length === 0) return;
  const params = { notifications: filter };
  for (let delay = FIRST_STREAM_DELAY; !signal.aborted; delay = Math.min(delay * 2, LAST_STREAM_DELAY)) {
    try {
      const listen: Message = { jsonrpc: '2.0', id: randomUUID(), method: 'subscriptions/listen', params };
      const response = await requests.post(listen, signal);
      if (!response.ok || mediaType(response) !== 'text/event-stream') {
        await response.body?.cancel();
        if (!mayPass(response)) return;
        throw new Error(`HTTP status ${response.status}`);
      }
      for await (const message of readBodyMessages(response, frame)) {
        delay = FIRST_STREAM_DELAY;
        if (message.method !== undefined && message.method !== 'notifications/subscriptions/acknowledged')
          receive(withMeta(message, { [metaKeys.subscriptionId]: undefined }));
      }
    } catch {
      // Opened again below.
    }
    if (!signal.aborted) await new Promise((done) => setTimeout(done, delay).unref());
  }
}

/** Whether a later attempt may succeed: a proxy in front of a backend that restarts responds so. */
function mayPass({ status }: Response): boolean {
  return status === 429 || status >= 500;
}
