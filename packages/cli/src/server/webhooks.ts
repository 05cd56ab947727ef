/** The delivery of audit events to all receivers of a process. Off without the settings `webhooks` and `eventExports`. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createDelivery,
  type Delivery,
  type DeliveryReport,
  type WebhookEvent,
} from '@portcullis/admin/webhooks';
import type { Composition } from './compose.ts';
import type { Parts } from './parts.ts';
import { type ConfiguredReceiver, type OpenReceiver, receiversOf } from './receivers.ts';

/** Milliseconds to the next look at the audit log. */
const INTERVAL = 1_000;

type Services = Pick<Parts, 'storage' | 'log' | 'webhookMetrics' | 'prepared'>;
type Audit = Pick<Composition, 'authorizationServer'>;

/** Starts to deliver: a new receiver gets what happens from then on. @returns a function that stops it, after the requests in progress */
export async function startWebhooks(
  services: Services,
  composition: Composition,
): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const opened = await Promise.all(
    receiversOf(services.prepared.settings).map(async (one) => ({ ...one, ...(await one.open()) })),
  );
  const running = opened.map((receiver) => deliverAll(receiver, services, composition, stopping.signal));
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

async function deliverAll(
  receiver: ConfiguredReceiver & OpenReceiver,
  services: Services,
  audit: Audit,
  stopping: AbortSignal,
): Promise<void> {
  const { send, close } = receiver;
  const delivery = createDelivery({
    webhook: receiver,
    store: services.storage.store,
    send,
    clock: Date.now,
    report: (report) => reportOutcome(receiver.name, report, services, audit),
    isStopped: () => stopping.aborted,
  });
  await deliverUntil(delivery, stopping);
  await close?.();
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
