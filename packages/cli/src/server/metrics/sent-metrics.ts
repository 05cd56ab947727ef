/** Metrics of what a process sends: webhooks, mails, and spans for the collector. */
import type { DeliveryReport } from '@portcullis/admin/webhooks';
import { createCounter, createLabelledGauge } from './instruments.ts';

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

/** Outcomes of attempts, and the age of the events that are delivered. */
export function createWebhookMetrics() {
  const attempts = createCounter(
    'portcullis_webhook_attempts_total',
    'Attempts to deliver an event to a webhook, by outcome.',
    ['webhook', 'outcome'],
  );
  const delay = createLabelledGauge(
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

export type MailMetrics = ReturnType<typeof createMailMetrics>;

/** Outcomes of attempts, and the age of the events that mails are about. */
export function createMailMetrics() {
  const attempts = createCounter(
    'portcullis_mail_attempts_total',
    'Events handled by mail, by outcome of the attempt; delivered includes those without a mail.',
    ['outcome'],
  );
  const delay = createLabelledGauge(
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

export type SpanOutcome = 'exported' | 'lost';

export type TelemetryMetrics = ReturnType<typeof createTelemetryMetrics>;

/** How many spans reached the collector. */
export function createTelemetryMetrics() {
  const spans = createCounter(
    'portcullis_otlp_spans_total',
    'Spans for the OpenTelemetry collector, by outcome.',
    ['outcome'],
  );
  return {
    count: (outcome: SpanOutcome, count: number): void => spans.add(count, outcome),
    families: () => [spans.family()],
  };
}
