/** Metrics of spans: how many reached the collector. */
import { family, labelsOf } from './prometheus-exposition.ts';

export type SpanOutcome = 'exported' | 'lost';

export interface TelemetryMetrics {
  count(outcome: SpanOutcome, spans: number): void;
  expose(): readonly string[];
}

export function createTelemetryMetrics(): TelemetryMetrics {
  const spans = new Map<string, number>();
  return {
    count(outcome, count) {
      const labels = labelsOf({ outcome });
      spans.set(labels, (spans.get(labels) ?? 0) + count);
    },
    expose: () =>
      family(
        'portcullis_otlp_spans_total',
        'counter',
        'Spans for the OpenTelemetry collector, by outcome.',
        spans,
      ),
  };
}
