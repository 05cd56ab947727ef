/** Metrics of spans: how many reached the collector. */
import { createCounter } from './instruments.ts';

export type SpanOutcome = 'exported' | 'lost';

export type TelemetryMetrics = ReturnType<typeof createTelemetryMetrics>;

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
