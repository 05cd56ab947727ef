/** Metrics of webhooks: outcomes of attempts, and the age of the events that are delivered. */
import type { DeliveryReport } from '@portcullis/admin/webhooks';
import { createCounter, createGauge } from './instruments.ts';

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

export function createWebhookMetrics() {
  const attempts = createCounter(
    'portcullis_webhook_attempts_total',
    'Attempts to deliver an event to a webhook, by outcome.',
    ['webhook', 'outcome'],
  );
  const delay = createGauge(
    'portcullis_webhook_delay_seconds',
    'Age of the last event that was sent to a webhook.',
    ['webhook'],
  );
  return {
    /** @param at when the event happened, in epoch milliseconds */
    count(webhook: string, outcome: DeliveryReport['outcome'], at: number): void {
      attempts.add(1, webhook, outcome);
      delay.set(Math.max(0, Date.now() - at) / 1000, webhook);
    },
    families: () => [attempts.family(), delay.family()],
  };
}
