/** `/event-streams`: the streams by which receivers get security events (Shared Signals Framework). */
import * as z from 'zod';
import { listEventStreams, removeEventStream } from '../../operations/streams.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf, timeSchema } from '../schemas.ts';

const streamSchema = z
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

export const streamEndpoints: readonly Endpoint[] = [
  defineEndpoint('Installation', 'GET /event-streams', {
    id: 'listEventStreams',
    summary: 'List the event streams of receivers, and how their delivery is',
    response: listOf(streamSchema, 'EventStreamList'),
    handle: async ({ admin }) => ({ items: await listEventStreams(admin.store) }),
  }),
  defineEndpoint('Installation', 'DELETE /event-streams/{streamId}', {
    id: 'removeEventStream',
    summary: 'Remove an event stream: its receiver gets nothing more until it creates another',
    params: { streamId: z.string().min(1).max(100) },
    response: z.object({ id: z.string(), clientId: z.string() }).meta({ id: 'RemovedEventStream' }),
    handle: ({ params: { streamId }, ...task }) => removeEventStream(task, streamId),
  }),
];
