/** `/event-streams`: the streams by which receivers get security events (Shared Signals Framework). */
import * as z from 'zod';
import { listEventStreams, removeEventStream, streamSchema } from '../../operations/streams.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf } from '../pages.ts';

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
