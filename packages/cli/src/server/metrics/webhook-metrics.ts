/** Metrics of webhooks: outcomes of attempts, and the age of the events that are delivered. */

import type { DeliveryReport } from '@portcullis/admin/webhooks';
import { family, labelsOf } from './prometheus-exposition.ts';

export interface WebhookMetrics {
  /** @param at when the event happened, in epoch milliseconds */
  count(webhook: string, outcome: DeliveryReport['outcome'], at: number): void;
  expose(): readonly string[];
}

export function createWebhookMetrics(): WebhookMetrics {
  const attempts = new Map<string, number>();
  const delays = new Map<string, number>();
  return {
    count(webhook, outcome, at) {
      const labels = labelsOf({ webhook, outcome });
      attempts.set(labels, (attempts.get(labels) ?? 0) + 1);
      delays.set(labelsOf({ webhook }), Math.max(0, Date.now() - at) / 1000);
    },
    expose: () => [
      ...family(
        'portcullis_webhook_attempts_total',
        'counter',
        'Attempts to deliver an event to a webhook, by outcome.',
        attempts,
      ),
      ...family(
        'portcullis_webhook_delay_seconds',
        'gauge',
        'Age of the last event that was sent to a webhook.',
        delays,
      ),
    ],
  };
}
