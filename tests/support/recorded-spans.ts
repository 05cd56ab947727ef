/** An SDK of OpenTelemetry that records the spans of one test. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { registerTracer } from '@portcullis/protocol';
import { onTestFinished } from 'vitest';

/** Registers the SDK, until the test has finished. @returns the spans that have ended */
export function recordSpans(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
  onTestFinished(endTracing);
  return exporter;
}

/** Without a tracer, and without an SDK. */
export function endTracing(): void {
  registerTracer(null);
  trace.disable();
  context.disable();
}
