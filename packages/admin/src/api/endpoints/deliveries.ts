/** `/webhooks` and `/mail`: what is sent of events. */
import * as z from 'zod';
import { listReceivers, replayEvents, showMail, tryMail, tryReceiver } from '../../operations/deliveries.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { isoTime, isoTimeOrNull } from '../schemas.ts';

const progressSchema = z
  .object({
    attempts: z.int().describe('failed ones in a row'),
    lastError: z.string().nullable(),
    nextAttemptAt: z.string().nullable().describe('ISO 8601, in UTC; null: nothing has failed'),
    deliveredAt: z.string().nullable().describe('ISO 8601, in UTC'),
  })
  .nullable()
  .describe('null: no server has started with it yet')
  .meta({ id: 'DeliveryProgress' });

function progressJson(progress: Awaited<ReturnType<typeof showMail>>['progress']) {
  if (progress === null) return null;
  const { attempts, lastError, nextAttemptAt, deliveredAt } = progress;
  return {
    ...{ attempts, lastError, deliveredAt: isoTimeOrNull(deliveredAt) },
    nextAttemptAt: attempts === 0 ? null : isoTime(nextAttemptAt),
  };
}

const params = { name: z.string().min(1).max(100).describe('name of a webhook, or of another receiver') };

export const deliveryEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/webhooks',
    id: 'listWebhooks',
    tag: 'Events',
    summary: 'List the receivers of events, and how far each is',
    scope: 'admin:read',
    response: z
      .object({
        items: z.array(
          z
            .object({
              name: z.string(),
              host: z.string(),
              types: z.array(z.string()).nullable().describe('null: all events'),
              progress: progressSchema,
            })
            .meta({ id: 'Webhook' }),
        ),
      })
      .meta({ id: 'WebhookList' }),
    async handle({ admin }) {
      const receivers = await listReceivers(admin);
      return { items: receivers.map((one) => ({ ...one, progress: progressJson(one.progress) })) };
    },
  }),
  defineEndpoint({
    method: 'POST',
    path: '/webhooks/{name}/test',
    id: 'testWebhook',
    tag: 'Events',
    summary: 'Send a test event to a receiver',
    scope: 'admin:write',
    params,
    response: z.object({ eventId: z.string() }).meta({ id: 'SentEvent' }),
    handle: async ({ params: { name }, ...task }) => ({ eventId: await tryReceiver(task, name) }),
  }),
  defineEndpoint({
    method: 'POST',
    path: '/webhooks/{name}/replay',
    id: 'replayEvents',
    tag: 'Events',
    summary: 'Deliver the events since a time again',
    scope: 'admin:write',
    params,
    body: { since: z.iso.datetime().describe('such as 2026-03-01T04:00:00Z') },
    response: z.object({ name: z.string(), since: z.string() }).meta({ id: 'ReplayedEvents' }),
    async handle({ params: { name }, body: { since }, ...task }) {
      await replayEvents(task, name, Date.parse(since));
      return { name, since };
    },
  }),
  defineEndpoint({
    method: 'GET',
    path: '/mail',
    id: 'showMail',
    tag: 'Installation',
    summary: 'Show whether mail is sent',
    scope: 'admin:read',
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
  defineEndpoint({
    method: 'POST',
    path: '/mail/test',
    id: 'testMail',
    tag: 'Installation',
    summary: 'Send a test mail',
    scope: 'admin:write',
    body: { email: z.email().max(300) },
    response: z.object({ email: z.string() }).meta({ id: 'SentMail' }),
    async handle({ body: { email }, ...task }) {
      await tryMail(task, email);
      return { email };
    },
  }),
];
