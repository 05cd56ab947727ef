/** Operations on the event streams of receivers. */
import type { EventStreamStore, WebhookStore } from '@portcullis/authorization-server/store';
import * as z from 'zod';
import { type AdminRequest, recordChange } from './administration.ts';
import type { StreamEvent } from './component-events.ts';
import { found } from './errors.ts';
import { timeSchema } from './time-schema.ts';

export const streamSchema = z
  .object({
    id: z.string(),
    clientId: z.string().describe('the receiver'),
    delivery: z.enum(['push', 'poll']),
    host: z.string().nullable().describe('where it is pushed; null: it is polled'),
    status: z.enum(['enabled', 'paused', 'disabled']),
    events: z.array(z.string()).describe('requested types of events; empty: all'),
    description: z.string().nullable(),
    createdAt: timeSchema(),
    attempts: z.int().describe('failed attempts to push in a row'),
    lastError: z.string().nullable(),
  })
  .meta({ id: 'EventStream' });

/** A stream as operators see it. Times in epoch seconds. */
export type ListedStream = Readonly<z.input<typeof streamSchema>>;

/** Ordered by identifier. */
export async function listEventStreams(
  store: Pick<EventStreamStore & WebhookStore, 'listEventStreams' | 'listWebhooks'>,
): Promise<readonly ListedStream[]> {
  const [streams, progress] = await Promise.all([store.listEventStreams(), store.listWebhooks()]);
  return streams.map(({ id, clientId, endpoint, status, eventsRequested, description, createdAt }) => {
    const { attempts = 0, lastError = null } = progress.find(({ name }) => name === id) ?? {};
    return {
      ...{ id, clientId, status, description, createdAt, events: [...eventsRequested] },
      ...(endpoint === null
        ? { delivery: 'poll', host: null, attempts: 0, lastError: null }
        : { delivery: 'push', host: new URL(endpoint).host, attempts, lastError }),
    };
  });
}

/** Its receiver gets nothing more. @returns the stream; `null` for an unknown one */
export async function removeStream(
  store: Pick<EventStreamStore, 'findEventStream' | 'removeEventStream'>,
  record: (event: StreamEvent) => void,
  id: string,
): Promise<Pick<ListedStream, 'id' | 'clientId'> | null> {
  const stream = await store.findEventStream(id);
  if (stream === null || !(await store.removeEventStream(id))) return null;
  const { clientId } = stream;
  record({ type: 'event_stream.removed', clientId, streamId: id });
  return { id, clientId };
}

export async function removeEventStream(
  request: AdminRequest,
  id: string,
): Promise<Pick<ListedStream, 'id' | 'clientId'>> {
  const { store, events } = request.admin;
  const removed = found(await removeStream(store, events, id), `event stream ${id}`);
  recordChange(request, 'streams.remove', id, { before: { clientId: removed.clientId } });
  return removed;
}
