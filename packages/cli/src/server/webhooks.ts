/** The delivery of audit events to all webhooks of a process. Off without the setting `webhooks`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Webhook } from '@portcullis/admin/options';
import {
  createDelivery,
  createSend,
  type Delivery,
  type DeliveryReport,
  type WebhookEvent,
} from '@portcullis/admin/webhooks';
import type { Composition } from './compose.ts';
import type { Parts } from './parts.ts';

/** Milliseconds to the next look at the audit log. */
const INTERVAL = 1_000;

type Services = Pick<Parts, 'storage' | 'log' | 'webhookMetrics' | 'prepared'>;
type Audit = Pick<Composition, 'authorizationServer'>;

/** Starts to deliver. @returns a function that stops it, after the requests in progress */
export function startWebhooks(services: Services, composition: Composition): () => Promise<void> {
  const stopping = new AbortController();
  const { webhooks } = services.prepared.settings;
  const running = webhooks.map((webhook) => deliverAll(webhook, services, composition, stopping.signal));
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

async function deliverAll(
  webhook: Webhook,
  services: Services,
  audit: Audit,
  stopping: AbortSignal,
): Promise<void> {
  const { storage, prepared } = services;
  const delivery = createDelivery({
    webhook,
    store: storage.store,
    send: createSend(webhook, prepared.settings.outbound, Date.now),
    clock: Date.now,
    report: (report) => reportOutcome(webhook.name, report, services, audit),
  });
  await deliverUntil(delivery, stopping);
}

/** Delivers until `stopping` aborts, and lets another process deliver then. */
export async function deliverUntil(delivery: Delivery, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    // The store reports an outage by itself.
    const isMore = await delivery.deliver().catch(() => false);
    if (!isMore) await sleep(INTERVAL, undefined, { signal: stopping, ref: false }).catch(() => {});
  }
  await delivery.release().catch(() => {});
}

/** A receiver that fails is logged once, and once when it works again. */
function reportOutcome(
  webhook: string,
  { outcome, event, reason, failures }: DeliveryReport,
  { log, webhookMetrics }: Services,
  audit: Audit,
): void {
  webhookMetrics.count(webhook, outcome, event.at);
  if (outcome === 'failed' && failures === 0) log({ type: 'webhook.failed', webhook, reason });
  if (outcome === 'delivered' && failures > 0) log({ type: 'webhook.recovered', webhook });
  if (outcome !== 'rejected') return;
  audit.authorizationServer.recordOf<WebhookEvent>(
    { isRoutine: () => false, isBulk: () => false, listener: log },
    { type: 'webhook.event_rejected', webhook, eventId: event.id, reason: reason ?? '' },
  );
}
