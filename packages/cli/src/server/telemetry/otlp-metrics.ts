/** The metrics of `/metrics` for OTLP. */
import { type HrTime, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Family } from '../metrics/prometheus-exposition.ts';

/** @param families the metrics of this process */
export function createMetricProducer(families: () => readonly Family[], resource: Resource): MetricProducer {
  const scope = { name: '@portcullis/cli' };
  const startTime = hrTimeOf(performance.timeOrigin);
  return {
    async collect() {
      const endTime = hrTimeOf(Date.now());
      const metrics = families().map((family) => toMetric(family, startTime, endTime));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

function hrTimeOf(milliseconds: number): HrTime {
  return [Math.trunc(milliseconds / 1000), Math.round((milliseconds % 1000) * 1e6)];
}

function toMetric(family: Family, startTime: HrTime, endTime: HrTime): MetricData {
  const { name, help } = family;
  const common = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (family.type === 'histogram') {
    const dataPoints = family.samples.map(({ labels: attributes, counts, sum }) => {
      const buckets = { boundaries: [...family.bounds], counts: [...counts] };
      const value = { buckets, sum, count: counts.reduce((total, count) => total + count, 0) };
      return { startTime, endTime, attributes, value };
    });
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = family.samples.map(({ labels: attributes, value }) => ({
    ...{ startTime, endTime, attributes, value },
  }));
  return family.type === 'gauge'
    ? { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
    : { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}
