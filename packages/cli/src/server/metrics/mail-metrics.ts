/** Metrics of mail: outcomes of attempts, and the age of the events that mails are about. */
import type { DeliveryReport } from '@portcullis/admin/webhooks';
import { createCounter, createGauge } from './instruments.ts';

export type MailMetrics = ReturnType<typeof createMailMetrics>;

export function createMailMetrics() {
  const attempts = createCounter(
    'portcullis_mail_attempts_total',
    'Events handled by mail, by outcome of the attempt; delivered includes those without a mail.',
    ['outcome'],
  );
  const delay = createGauge(
    'portcullis_mail_delay_seconds',
    'Age of the last event that was handled by mail.',
    [],
  );
  return {
    /** @param at when the event happened, in epoch milliseconds */
    count(outcome: DeliveryReport['outcome'], at: number): void {
      attempts.add(1, outcome);
      delay.set(Math.max(0, Date.now() - at) / 1000);
    },
    families: () => [attempts.family(), delay.family()],
  };
}
