/** Registers the SDK of OpenTelemetry, which sends spans and metrics to a collector. Loaded only with the setting `otlp`. */
import { randomUUID } from 'node:crypto';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { traceWithOpenTelemetry } from '@portcullis/http/opentelemetry';
import { registerTracer } from '@portcullis/protocol';
import { version } from '../../manifest.ts';
import type { Otlp } from '../../settings/otlp.ts';
import type { Log } from '../log.ts';
import type { LabelledCounter } from '../metrics/instruments.ts';
import type { Family } from '../metrics/prometheus-exposition.ts';
import { createMetricProducer } from './otlp-metrics.ts';
import { createSpanProcessor } from './span-processor.ts';

export type Telemetry = ReturnType<typeof startTelemetry>;

/** Milliseconds for a request to the collector, also when this process stops. */
const TIMEOUT = 5_000;

/** @param spans by outcome */
export function startTelemetry(otlp: Otlp, log: Log, spans: LabelledCounter) {
  const { url, headers } = otlp;
  const resource = createResource();
  const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces`, headers, timeoutMillis: TIMEOUT });
  const provider = createProvider(otlp, resource, exporter, log, spans);
  const contextManager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(contextManager);
  trace.setGlobalTracerProvider(provider);
  traceWithOpenTelemetry();
  let meters: MeterProvider | null = null;
  return {
    /** Sends the metrics of this process from now on. */
    sendMetrics(families: () => readonly Family[]): void {
      const reader = new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics`, headers, timeoutMillis: TIMEOUT }),
        metricProducers: [createMetricProducer(families, resource)],
      });
      meters = new MeterProvider({ resource, readers: [reader] });
    },
    /** Sends what is left, and ends tracing. */
    async stop(): Promise<void> {
      registerTracer(null);
      await Promise.allSettled([provider.shutdown(), meters?.shutdown()]);
      trace.disable();
      context.disable();
    },
  };
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` add to what is known here. */
function createResource(): Resource {
  return resourceFromAttributes({
    'service.name': 'portcullis',
    'service.version': version,
    'service.instance.id': randomUUID(),
  }).merge(detectResources({ detectors: [envDetector] }));
}

/** What callers want to be sampled does not matter: they could have every request sampled. */
function createProvider(
  { sampling }: Otlp,
  resource: Resource,
  exporter: OTLPTraceExporter,
  log: Log,
  spans: LabelledCounter,
): TracerProvider {
  const own = new TraceIdRatioBasedSampler(sampling);
  let isFailing = false;
  const processor = createSpanProcessor(exporter, (outcome, count, reason) => {
    spans.add(count, outcome);
    const fails = outcome === 'lost';
    if (fails !== isFailing) log(fails ? { type: 'otlp.failed', reason } : { type: 'otlp.recovered' });
    isFailing = fails;
  });
  return new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: own, remoteParentSampled: own, remoteParentNotSampled: own }),
    spanProcessors: [processor],
  });
}
