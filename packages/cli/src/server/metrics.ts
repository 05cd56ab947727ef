/** Prometheus metrics: events, HTTP responses and durations, and the state of the process. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathOf } from '@portcullis/http';
import type { HttpHandler } from '@portcullis/http/node';
import type { LogEvent } from './log.ts';
import { type Distribution, family, gauge, histogram, labelsOf } from './prometheus-exposition.ts';

export interface Metrics {
  /** Counts an event. */
  count(event: LogEvent): void;
  /** Wraps a handler to count and time its responses. */
  measure(handler: HttpHandler): HttpHandler;
  /** @see Prometheus text exposition format 0.0.4 */
  expose(): string;
}

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Paths with their own label; all others share one, so that requests cannot create series. */
const PATHS = ['/authorize', '/token', '/register', '/revoke', '/introspect', '/jwks', '/login', '/consent'];

/** Statistics of the responses at a path. */
interface PathStatistics {
  readonly statuses: Map<number, number>;
  /** By duration bucket. */
  readonly counts: number[];
  /** Seconds. */
  sum: number;
}

type StatisticsByPath = Map<string, PathStatistics>;

/**
 * @param applicationPath `null` if no application runs in this process
 * @param droppedLines how many log lines were dropped since the start
 */
export function createMetrics(applicationPath: string | null, droppedLines: () => number): Metrics {
  const events: Series = new Map();
  const statistics: StatisticsByPath = new Map();
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();

  const nameOf = (path: string) => {
    if (applicationPath !== null && (path === applicationPath || path.startsWith(`${applicationPath}/`)))
      return applicationPath;
    if (path.startsWith('/.well-known/')) return '/.well-known/*';
    if (path.startsWith('/status-lists')) return '/status-lists/*';
    return PATHS.includes(path) ? path : 'other';
  };

  return {
    count({ type, error, endpoint }) {
      // Most events have only a type, so no new string is built.
      const name = error === undefined && endpoint === undefined ? type : `${type}\n${error}\n${endpoint}`;
      increment(events, name, () =>
        labelsOf({ type, ...pick('error', error), ...pick('endpoint', endpoint) }),
      );
    },
    measure: (handler) => (request, connection) => {
      const start = performance.now();
      const path = nameOf(pathOf(request));
      const noteResponse = <A extends { readonly status: number }>(response: A): A => {
        recordResponse(statistics, path, response.status, (performance.now() - start) / 1000);
        return response;
      };
      return handler(request, connection).then((response) => {
        if (!('fetch' in response)) return noteResponse(response);
        return { fetch: async (request) => noteResponse(await response.fetch(request)) };
      });
    },
    expose: () => {
      const lag = delay.percentile(99) / 1e9;
      // Since the last scrape: one stall at startup would hide all later ones.
      delay.reset();
      return [
        ...family('portcullis_events_total', 'counter', 'Events, by type.', valuesOf(events)),
        ...family(
          'portcullis_http_responses_total',
          'counter',
          'HTTP responses, by path and status.',
          statusesOf(statistics),
        ),
        ...histogram(
          'portcullis_http_duration_seconds',
          'HTTP response time, by path.',
          BUCKET_BOUNDS,
          durationsOf(statistics),
        ),
        ...family(
          'portcullis_log_lines_dropped_total',
          'counter',
          'Log lines that could not be written.',
          new Map([['', droppedLines()]]),
        ),
        ...gauge(
          'process_resident_memory_bytes',
          'Resident memory of the process.',
          process.memoryUsage.rss(),
        ),
        ...gauge('process_uptime_seconds', 'Uptime of the process.', process.uptime()),
        ...gauge(
          'nodejs_eventloop_lag_p99_seconds',
          'Event loop lag since the last scrape, 99th percentile.',
          lag,
        ),
        '',
      ].join('\n');
    },
  };
}

function pick(name: string, value: unknown): Readonly<Record<string, string>> {
  return typeof value === 'string' ? { [name]: value } : {};
}

/** Maximum number of label combinations. */
const MAX_SERIES = 1_000;

/** Counters by a short key; their labels are formatted once. */
type Series = Map<string, { readonly labels: string; count: number }>;

function increment(series: Series, name: string, labels: () => string): void {
  const found = series.get(name);
  if (found !== undefined) found.count += 1;
  else if (series.size < MAX_SERIES) series.set(name, { labels: labels(), count: 1 });
}

function valuesOf(series: Series): ReadonlyMap<string, number> {
  return new Map([...series.values()].map(({ labels, count }) => [labels, count]));
}

function recordResponse(statistics: StatisticsByPath, path: string, status: number, seconds: number): void {
  let found = statistics.get(path);
  if (found === undefined) {
    found = {
      statuses: new Map(),
      counts: Array.from({ length: BUCKET_BOUNDS.length + 1 }, () => 0),
      sum: 0,
    };
    statistics.set(path, found);
  }
  found.statuses.set(status, (found.statuses.get(status) ?? 0) + 1);
  const index = BUCKET_BOUNDS.findIndex((bound) => seconds <= bound);
  const place = index === -1 ? BUCKET_BOUNDS.length : index;
  found.counts[place] = (found.counts[place] ?? 0) + 1;
  found.sum += seconds;
}

function statusesOf(statistics: StatisticsByPath): ReadonlyMap<string, number> {
  const counts = [...statistics].flatMap(([path, { statuses }]) =>
    [...statuses].map(([status, count]): [string, number] => [
      labelsOf({ path, status: String(status) }),
      count,
    ]),
  );
  return new Map(counts);
}

function durationsOf(statistics: StatisticsByPath): readonly Distribution[] {
  return [...statistics].map(([path, { counts, sum }]) => ({ labels: { path }, counts, sum }));
}
