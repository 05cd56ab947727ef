/** Deliveries of audit events to receivers: how they run, and what is reported about them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Delivery, DeliveryReport, WebhookEvent } from '@portcullis/admin/webhooks';
import type { AuthorizationServer } from '@portcullis/authorization-server';
import type { Parts } from './parts.ts';

/** Milliseconds to the next look at the audit log. */
const INTERVAL = 1_000;

type Repeated = Omit<Delivery, 'deliver'> & { deliver(): Promise<unknown> };

/**
 * Starts to deliver.
 * @param create gets a function that says whether to stop
 * @returns a function that stops it, after what is in progress, and lets another process deliver then
 */
export function startDelivery(create: (isStopped: () => boolean) => Repeated): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = deliverUntil(
    create(() => signal.aborted),
    signal,
  );
  return () => {
    stopping.abort();
    return running;
  };
}

async function deliverUntil(delivery: Repeated, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    // The store reports an outage by itself.
    const isMore = await delivery.deliver().catch(() => false);
    if (isMore !== true) await sleep(INTERVAL, undefined, { signal: stopping, ref: false }).catch(() => {});
  }
  await delivery.release().catch(() => {});
}

/** A receiver that fails is logged once, and once when it works again. */
export function reportDelivery(
  webhook: string,
  { outcome, event, reason, failures }: DeliveryReport,
  { log, metrics }: Pick<Parts, 'log' | 'metrics'>,
  server: Pick<AuthorizationServer, 'recordOf'>,
): void {
  metrics.webhooks.count(outcome, event.at, webhook);
  if (outcome === 'failed' && failures === 0) log({ type: 'webhook.failed', webhook, reason });
  if (outcome === 'delivered' && failures > 0) log({ type: 'webhook.recovered', webhook });
  if (outcome !== 'rejected') return;
  server.recordOf<WebhookEvent>(
    { ...NOT_ROUTINE, listener: log },
    { type: 'webhook.event_rejected', webhook, eventId: event.id, reason: reason ?? '' },
  );
}

/** Of events that are always recorded. */
export const NOT_ROUTINE = { isRoutine: () => false, isBulk: () => false } as const;
