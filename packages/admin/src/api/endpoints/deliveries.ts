/** `/webhooks` and `/mail`: what is sent of events. */
import * as z from 'zod';
import { listReceivers, replayEvents, showMail, tryMail, tryReceiver } from '../../operations/deliveries.ts';
import { isoTime, optionalTimeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf } from '../schemas.ts';

const progressSchema = z
  .object({
    attempts: z.int().describe('failed ones in a row'),
    lastError: z.string().nullable(),
    nextAttemptAt: optionalTimeSchema('nothing has failed'),
    deliveredAt: isoTime().nullable().describe('ISO 8601, in UTC'),
  })
  .nullable()
  .describe('null: no server has started with it yet')
  .meta({ id: 'DeliveryProgress' });

function progressJson(progress: Awaited<ReturnType<typeof showMail>>['progress']) {
  return progress && { ...progress, nextAttemptAt: progress.attempts === 0 ? null : progress.nextAttemptAt };
}

const webhookSchema = z
  .object({
    name: z.string(),
    host: z.string(),
    types: z.array(z.string()).nullable().describe('null: all events'),
    progress: progressSchema,
  })
  .meta({ id: 'Webhook' });

const params = { name: z.string().min(1).max(100).describe('name of a webhook, or of another receiver') };

export const deliveryEndpoints: readonly Endpoint[] = [
  defineEndpoint('Events', 'GET /webhooks', {
    id: 'listWebhooks',
    summary: 'List the receivers of events, and how far each is',
    response: listOf(webhookSchema, 'WebhookList'),
    async handle({ admin }) {
      const receivers = await listReceivers(admin);
      return { items: receivers.map((one) => ({ ...one, progress: progressJson(one.progress) })) };
    },
  }),
  defineEndpoint('Events', 'POST /webhooks/{name}/test', {
    id: 'testWebhook',
    summary: 'Send a test event to a receiver',
    params,
    response: z.object({ eventId: z.string() }).meta({ id: 'SentEvent' }),
    handle: async ({ params: { name }, ...task }) => ({ eventId: await tryReceiver(task, name) }),
  }),
  defineEndpoint('Events', 'POST /webhooks/{name}/replay', {
    id: 'replayEvents',
    summary: 'Deliver the events since a time again',
    params,
    body: { since: z.iso.datetime().describe('such as 2026-03-01T04:00:00Z') },
    response: z.object({ name: z.string(), since: z.string() }).meta({ id: 'ReplayedEvents' }),
    async handle({ params: { name }, body: { since }, ...task }) {
      await replayEvents(task, name, Date.parse(since));
      return { name, since };
    },
  }),
  defineEndpoint('Installation', 'GET /mail', {
    id: 'showMail',
    summary: 'Show whether mail is sent',
    response: z
      .object({
        server: z.string().nullable().describe('null: no mail is sent'),
        progress: progressSchema,
      })
      .meta({ id: 'Mail' }),
    async handle({ admin }) {
      const { server, progress } = await showMail(admin);
      return { server, progress: progressJson(progress) };
    },
  }),
  defineEndpoint('Installation', 'POST /mail/test', {
    id: 'testMail',
    summary: 'Send a test mail',
    body: { email: z.email().max(300) },
    response: z.object({ email: z.string() }).meta({ id: 'SentMail' }),
    async handle({ body: { email }, ...task }) {
      await tryMail(task, email);
      return { email };
    },
  }),
];
