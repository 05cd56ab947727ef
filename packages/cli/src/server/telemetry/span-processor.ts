/** Sends spans in batches from a bounded queue, and reports those that are lost: the queue was full, or the collector failed. */
import { TraceFlags } from '@opentelemetry/api';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';

/** Spans in the queue. */
const MAX_QUEUED = 2048;

/** @param report receives the outcome of spans, and why they are lost */
export function createSpanProcessor(
  exporter: SpanExporter,
  report: (outcome: 'exported' | 'lost', count: number, reason: string | null) => void,
): SpanProcessor {
  let queued = 0;
  const batch = new BatchSpanProcessor({
    maxQueueSize: MAX_QUEUED,
    exporter: {
      export(spans, done) {
        queued -= spans.length;
        exporter.export(spans, (result) => {
          // `ExportResultCode.SUCCESS`
          const isExported = result.code === 0;
          report(isExported ? 'exported' : 'lost', spans.length, result.error?.message ?? null);
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    },
  });
  return {
    onStart: () => {},
    onEnd(span) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (queued >= MAX_QUEUED) {
        report('lost', 1, 'the queue is full');
        return;
      }
      queued += 1;
      batch.onEnd(span);
    },
    forceFlush: () => batch.forceFlush(),
    shutdown: () => batch.shutdown(),
  };
}
