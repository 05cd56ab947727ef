/** `/webhooks` and `/mail`: what is sent of events. */
import * as z from 'zod';
import {
  listReceivers,
  mailStatusSchema,
  replayEvents,
  showMail,
  tryMail,
  tryReceiver,
  webhookSchema,
} from '../../operations/deliveries.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf } from '../pages.ts';

const params = { name: z.string().min(1).max(100).describe('name of a webhook, or of another receiver') };

export const deliveryEndpoints: readonly Endpoint[] = [
  defineEndpoint('Events', 'GET /webhooks', {
    id: 'listWebhooks',
    summary: 'List the receivers of events, and how far each is',
    response: listOf(webhookSchema, 'WebhookList'),
    handle: async ({ admin }) => ({ items: await listReceivers(admin) }),
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
    response: mailStatusSchema,
    handle: ({ admin }) => showMail(admin),
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
