/** `/events`: the audit log, in pages or as it is written. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import * as z from 'zod';
import { followEvents, listEvents } from '../../operations/events.ts';
import { createFilter, criteria } from '../../operations/search-events.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { respondEvents } from '../event-stream.ts';
import { listOf, pageOf, pageQuery, readCursor, writeCursor } from '../pages.ts';

const eventSchema = z
  .object({
    id: z.string(),
    at: z.string().describe('ISO 8601 with milliseconds, in UTC'),
    type: z.string().describe('docs/events.md lists all'),
    clientId: z.string().nullable(),
    userId: z.string().nullable(),
    grantId: z.string().nullable(),
    resource: z.string().nullable(),
    transactionId: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

/** Of one authorization, at most. */
const MAX_EVENTS = 1_000;

export function eventJson({ at, accountId, expiresAt: _expiresAt, ...event }: AuditEventRecord) {
  return { ...event, userId: accountId, at: new Date(at).toISOString() };
}

export const eventEndpoints: readonly Endpoint[] = [
  defineEndpoint('Events', 'GET /events', {
    id: 'listEvents',
    summary: 'List events, the latest first',
    description:
      'A search of a long log ends after two seconds: then a page has fewer items than `limit`, and `next` goes on with the search.',
    query: {
      ...pageQuery,
      ...criteria,
      since: z.iso
        .datetime()
        .optional()
        .describe('only events since this time, such as 2026-03-01T04:00:00Z'),
    },
    response: pageOf(eventSchema, 'EventPage'),
    async handle({ admin, query: { cursor, limit, since, ...others } }) {
      const wanted = { ...others, since: since === undefined ? undefined : Date.parse(since) };
      const { events, before } = await listEvents(admin.store, wanted, readCursor(cursor), limit);
      return { items: events.map(eventJson), next: writeCursor(before) };
    },
  }),
  defineEndpoint('Events', 'GET /transactions/{transactionId}/events', {
    id: 'listTransactionEvents',
    summary: 'List the events of one authorization, from its request to its tokens',
    params: { transactionId: z.string().min(1).max(200) },
    response: listOf(eventSchema, 'EventList'),
    async handle({ admin, params: { transactionId } }) {
      return { items: (await admin.store.listTransactionEvents(transactionId, MAX_EVENTS)).map(eventJson) };
    },
  }),
  defineEndpoint('Events', 'GET /events/stream', {
    id: 'followEvents',
    summary: 'Follow events as server-sent events',
    description: 'The stream ends with its access token, or the role; connect again with a new one.',
    isStream: true,
    query: criteria,
    response: eventSchema,
    async handle({ admin, query, signal, isStillPermitted }) {
      // Before the stream begins, so that an unknown event is a 400.
      const filter = await createFilter(query, admin.store);
      return respondEvents(
        (ended) => followEvents(admin, filter, AbortSignal.any([signal, ended]), isStillPermitted),
        eventJson,
      );
    },
  }),
];
