/** The metrics of `/metrics` for OTLP: read from their text, which is their only declaration. */
import { type HrTime, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

/** @param expose the metrics of this process, as Prometheus reads them */
export function createMetricProducer(expose: () => string, resource: Resource): MetricProducer {
  const scope = { name: '@portcullis/cli' };
  const startTime = hrTimeOf(performance.timeOrigin);
  return {
    async collect() {
      const endTime = hrTimeOf(Date.now());
      const metrics = readFamilies(expose()).flatMap((family) => toMetrics(family, startTime, endTime));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

function hrTimeOf(milliseconds: number): HrTime {
  return [Math.trunc(milliseconds / 1000), Math.round((milliseconds % 1000) * 1e6)];
}

/** @see Prometheus text exposition format 0.0.4 */
function readFamilies(text: string): readonly Family[] {
  return text.split(/^(?=# HELP )/m).flatMap((block) => {
    const [, name = '', help = ''] = /^# HELP (\S+) (.*)$/m.exec(block) ?? [];
    const [, type = ''] = /^# TYPE \S+ (\S+)$/m.exec(block) ?? [];
    const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return name === '' ? [] : [{ name, help, type, samples: lines.map(readSample) }];
  });
}

function readSample(line: string): Sample {
  const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, unescapeLabel(text)])),
    value: Number(value),
  };
}

function unescapeLabel(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function toMetrics(family: Family, startTime: HrTime, endTime: HrTime): readonly MetricData[] {
  const { name, help, type, samples } = family;
  const points = (of: readonly Sample[]): DataPoint<number>[] =>
    of.map(({ labels, value }) => ({ startTime, endTime, attributes: labels, value }));
  const common = (own: string) => ({
    descriptor: { name: own, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  });
  const sum = (own: string, of: readonly Sample[]): MetricData => ({
    ...{ ...common(own), dataPointType: DataPointType.SUM, isMonotonic: true },
    dataPoints: points(of),
  });
  if (type === 'counter') return [sum(name, samples)];
  if (type === 'gauge')
    return [{ ...common(name), dataPointType: DataPointType.GAUGE, dataPoints: points(samples) }];
  if (type === 'histogram') {
    const dataPoints = readHistograms(family).map((point) => ({ ...point, startTime, endTime }));
    return [{ ...common(name), dataPointType: DataPointType.HISTOGRAM, dataPoints }];
  }
  // A summary without quantiles: OTLP has no such metric of an SDK.
  return [...new Set(samples.map((sample) => sample.name))].map((own) =>
    sum(
      own,
      samples.filter((sample) => sample.name === own),
    ),
  );
}

type HistogramPoint = Pick<DataPoint<Histogram>, 'attributes' | 'value'>;

/** The samples of each series: cumulative buckets, the sum and the count. */
function readHistograms({ name, samples }: Family): readonly HistogramPoint[] {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  return [...series.values()].map((own) => {
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const totalOf = (suffix: string) => own.find((sample) => sample.name === name + suffix)?.value ?? 0;
    const { le: _, ...attributes } = own[0]?.labels ?? {};
    return {
      attributes,
      value: {
        buckets: {
          boundaries: buckets.slice(0, -1).map(({ labels: { le } }) => Number(le)),
          counts: buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0)),
        },
        sum: totalOf('_sum'),
        count: totalOf('_count'),
      },
    };
  });
}
