/** Metrics of mail: outcomes of attempts, and the age of the events that mails are about. */

import type { DeliveryReport } from '@portcullis/admin/webhooks';
import { family, labelsOf } from './prometheus-exposition.ts';

export interface MailMetrics {
  /** @param at when the event happened, in epoch milliseconds */
  count(outcome: DeliveryReport['outcome'], at: number): void;
  expose(): readonly string[];
}

export function createMailMetrics(): MailMetrics {
  const attempts = new Map<string, number>();
  const delays = new Map<string, number>();
  return {
    count(outcome, at) {
      const labels = labelsOf({ outcome });
      attempts.set(labels, (attempts.get(labels) ?? 0) + 1);
      delays.set('', Math.max(0, Date.now() - at) / 1000);
    },
    expose: () => [
      ...family(
        'portcullis_mail_attempts_total',
        'counter',
        'Events handled by mail, by outcome of the attempt; delivered includes those without a mail.',
        attempts,
      ),
      ...family(
        'portcullis_mail_delay_seconds',
        'gauge',
        'Age of the last event that was handled by mail.',
        delays,
      ),
    ],
  };
}
