/** What the components of a process count: the database, webhooks, mails, and spans for the collector. */
import type { DeliveryReport } from '@portcullis/admin/webhooks';
import { createDatabaseMetrics } from './database-metrics.ts';
import { createCounter, createLabelledGauge, type LabelledCounter } from './instruments.ts';
import type { Family } from './prometheus-exposition.ts';

export type ComponentMetrics = ReturnType<typeof createComponentMetrics>;

export function createComponentMetrics() {
  const database = createDatabaseMetrics();
  const webhooks = createDeliveryMetrics(
    createCounter(
      'portcullis_webhook_attempts_total',
      'Attempts to deliver an event to a webhook, by outcome.',
      ['webhook', 'outcome'],
    ),
    createLabelledGauge(
      'portcullis_webhook_delay_seconds',
      'Age of the last event that was sent to a webhook.',
      ['webhook'],
    ),
  );
  const mail = createDeliveryMetrics(
    createCounter(
      'portcullis_mail_attempts_total',
      'Events handled by mail, by outcome of the attempt; delivered includes those without a mail.',
      ['outcome'],
    ),
    createLabelledGauge(
      'portcullis_mail_delay_seconds',
      'Age of the last event that was handled by mail.',
      [],
    ),
  );
  const spans = createCounter(
    'portcullis_otlp_spans_total',
    'Spans for the OpenTelemetry collector, by outcome.',
    ['outcome'],
  );
  return {
    database,
    webhooks,
    mail,
    spans,
    families: (): readonly Family[] => [
      ...database.families(),
      ...webhooks.families(),
      ...mail.families(),
      spans.family(),
    ],
  };
}

/** Outcomes of attempts, and the age of the events that are delivered. */
function createDeliveryMetrics(attempts: LabelledCounter, delay: ReturnType<typeof createLabelledGauge>) {
  return {
    /** @param at when the event happened, in epoch milliseconds @param receiver its name, where there may be several */
    count(outcome: DeliveryReport['outcome'], at: number, ...receiver: readonly string[]): void {
      attempts.add(1, ...receiver, outcome);
      delay.set(Math.max(0, Date.now() - at) / 1000, ...receiver);
    },
    families: () => [attempts.family(), delay.family()],
  };
}
