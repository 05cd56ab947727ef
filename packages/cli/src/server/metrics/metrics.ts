/** Prometheus metrics: events, HTTP responses and durations, and the state of the process. */
import { pathOf } from '@portcullis/http';
import type { FetchDelegate, HttpHandler, NodeDelegate } from '@portcullis/http/node';
import type { LogEvent } from '../log.ts';
import { createApprovalMetrics } from './approval-metrics.ts';
import { createCallMetrics } from './call-metrics.ts';
import type { DatabaseMetrics } from './database-metrics.ts';
import { createDurations, type Durations } from './durations.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { counter, type Distribution, family, gauge, histogram, labelsOf } from './prometheus-exposition.ts';

export interface Metrics {
  /** Counts an event. */
  count(event: LogEvent): void;
  /** Wraps a handler to count and time its responses. */
  measure(handler: HttpHandler): HttpHandler;
  /** @see Prometheus text exposition format 0.0.4 */
  expose(): string;
}

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10];

/** Paths with their own label; all others share one, so that requests cannot create series. */
const PATHS = ['/authorize', '/token', '/register', '/revoke', '/introspect', '/jwks', '/login', '/consent'];

/** Statistics of the responses at a path. */
interface PathStatistics {
  readonly statuses: Map<number, number>;
  readonly durations: Durations;
}

/** A request in progress. */
interface MeasuredRequest {
  readonly path: string;
  /** Milliseconds of `performance.now()`. */
  readonly start: number;
}

type StatisticsByPath = Map<string, PathStatistics>;

/**
 * @param applicationPath `null` if no application runs in this process
 * @param droppedLines how many log lines were dropped since the start
 * @param database metrics of the database
 */
export function createMetrics(
  applicationPath: string | null,
  droppedLines: () => number,
  database: Pick<DatabaseMetrics, 'expose'>,
): Metrics {
  const events: Series = new Map();
  const statistics: StatisticsByPath = new Map();
  const calls = createCallMetrics();
  const approvals = createApprovalMetrics();
  const exposeProcess = createProcessMetrics();
  let droppedEvents = 0;
  const requests = createRequestMeasurement(applicationPath, statistics);

  return {
    count(event) {
      const { type, error, endpoint, count } = event;
      if (type === 'call.finished') calls.count(event);
      if (type === 'approval.granted' || type === 'approval.denied') approvals.count(event);
      if (type === 'audit.dropped') droppedEvents += Number(count);
      // Most events have only a type, so no new string is built.
      const name = error === undefined && endpoint === undefined ? type : `${type}\n${error}\n${endpoint}`;
      increment(events, name, () =>
        labelsOf({ type, ...pick('error', error), ...pick('endpoint', endpoint) }),
      );
    },
    measure: requests.measure,
    expose: () =>
      [
        ...family('portcullis_events_total', 'counter', 'Events, by type.', valuesOf(events)),
        ...family(
          'portcullis_http_responses_total',
          'counter',
          'HTTP responses, by path and status.',
          statusesOf(statistics),
        ),
        ...histogram(
          'portcullis_http_response_duration_seconds',
          'Time to respond, by path.',
          BUCKET_BOUNDS,
          durationsOf(statistics),
        ),
        ...gauge(
          'portcullis_http_requests_in_flight',
          'Requests without a response yet.',
          requests.inFlight(),
        ),
        ...counter(
          'portcullis_log_lines_dropped_total',
          'Log lines that could not be written.',
          droppedLines(),
        ),
        ...counter(
          'portcullis_audit_events_dropped_total',
          'Events missing in the audit log of the database.',
          droppedEvents,
        ),
        ...calls.expose(),
        ...approvals.expose(),
        ...database.expose(),
        ...exposeProcess(),
        '',
      ].join('\n'),
  };
}

/** Counts and times the responses of handlers. */
function createRequestMeasurement(applicationPath: string | null, statistics: StatisticsByPath) {
  let inFlight = 0;

  const measure = (handler: HttpHandler): HttpHandler => {
    return (request, connection) => {
      const one = { path: nameOf(pathOf(request)), start: performance.now() };
      inFlight += 1;
      const noteFailure = (error: unknown): never => {
        noteEnd(one, null);
        throw error;
      };
      return handler(request, connection).then((response) => {
        if ('node' in response) return measureNode(response, one);
        if ('fetch' in response) return measureFetch(response, one, noteFailure);
        noteEnd(one, response.status);
        return response;
      }, noteFailure);
    };
  };
  return { measure, inFlight: () => inFlight };

  function nameOf(path: string): string {
    if (applicationPath !== null && (path === applicationPath || path.startsWith(`${applicationPath}/`)))
      return applicationPath;
    if (path.startsWith('/.well-known/')) return '/.well-known/*';
    if (path.startsWith('/status-lists')) return '/status-lists/*';
    return PATHS.includes(path) ? path : 'other';
  }

  function noteEnd({ path, start }: MeasuredRequest, status: number | null): void {
    inFlight -= 1;
    if (status !== null) recordResponse(statistics, path, status, (performance.now() - start) / 1000);
  }

  function measureNode(response: NodeDelegate, one: MeasuredRequest): NodeDelegate {
    return {
      node: (incoming, outgoing) => {
        outgoing.on('close', () => noteEnd(one, outgoing.headersSent ? outgoing.statusCode : null));
        response.node(incoming, outgoing);
      },
    };
  }

  function measureFetch(
    response: FetchDelegate,
    one: MeasuredRequest,
    noteFailure: (error: unknown) => never,
  ): FetchDelegate {
    return {
      fetch: (request) =>
        response.fetch(request).then((fetched) => {
          noteEnd(one, fetched.status);
          return fetched;
        }, noteFailure),
    };
  }
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
    found = { statuses: new Map(), durations: createDurations(BUCKET_BOUNDS) };
    statistics.set(path, found);
  }
  found.statuses.set(status, (found.statuses.get(status) ?? 0) + 1);
  found.durations.record(seconds);
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
  return [...statistics].map(([path, { durations }]) => ({ labels: { path }, ...durations }));
}
