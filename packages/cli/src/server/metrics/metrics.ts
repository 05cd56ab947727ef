/** Prometheus metrics: events, HTTP responses and durations, and the state of the process. */
import type { ServerResponse } from 'node:http';
import { pathOf } from '@portcullis/http';
import type { FetchDelegate, HttpHandler, NodeDelegate } from '@portcullis/http/node';
import type { LogEvent } from '../log.ts';
import { createCallMetrics } from './call-metrics.ts';
import type { ComponentMetrics } from './component-metrics.ts';
import { createCounter, createHistogram } from './instruments.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { counter, type Family, gauge } from './prometheus-exposition.ts';

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10];

/** Paths with their own label; all others share one, so that requests cannot create series. */
const PATHS = ['/authorize', '/token', '/register', '/revoke', '/introspect', '/jwks', '/login', '/consent'];

/** The same for decisions of approvers. */
const DECISION_BOUNDS = [5, 10, 25, 60, 300, 900, 1800, 3600];

/** Maximum number of label combinations of events. */
const MAX_SERIES = 1_000;

/** A request in progress. */
interface MeasuredRequest {
  readonly path: string;
  /** Milliseconds of `performance.now()`. */
  readonly start: number;
}

/**
 * @param applicationPath `null` if no application runs in this process
 * @param droppedLines how many log lines were dropped since the start
 * @param components their metrics
 */
export function createMetrics(
  applicationPath: string | null,
  droppedLines: () => number,
  components: Pick<ComponentMetrics, 'families'>,
) {
  const events = createCounter(
    'portcullis_events_total',
    'Events, by type.',
    ['type', 'error', 'endpoint'],
    MAX_SERIES,
  );
  const calls = createCallMetrics();
  const approvals = createHistogram(
    'portcullis_approval_decision_duration_seconds',
    'Time until an approver decided on a page of this process, by decision.',
    DECISION_BOUNDS,
    ['decision'],
  );
  const processFamilies = createProcessMetrics();
  let droppedEvents = 0;
  const requests = createRequestMeasurement(applicationPath);
  const families = (): readonly Family[] => [
    events.family(),
    ...requests.families(),
    counter('portcullis_log_lines_dropped_total', 'Log lines that could not be written.', droppedLines()),
    counter(
      'portcullis_audit_events_dropped_total',
      'Events missing in the audit log of the database.',
      droppedEvents,
    ),
    ...calls.families(),
    approvals.family(),
    ...components.families(),
    ...processFamilies(),
  ];

  return {
    count(event: LogEvent): void {
      const { type, count, waited } = event;
      if (type === 'call.finished') calls.count(event);
      if (type === 'approval.granted') approvals.record(Number(waited), 'granted');
      if (type === 'approval.denied') approvals.record(Number(waited), 'denied');
      if (type === 'audit.dropped') droppedEvents += Number(count);
      const [error, endpoint] = [textOf(event['error']), textOf(event['endpoint'])];
      if (error === undefined && endpoint === undefined) events.add(1, type);
      else events.add(1, type, error, endpoint);
    },
    /** Wraps a handler to count and time its responses. */
    measure: requests.measure,
    families,
  };
}

/** Counts and times the responses of handlers. */
function createRequestMeasurement(applicationPath: string | null) {
  const responses = createCounter('portcullis_http_responses_total', 'HTTP responses, by path and status.', [
    'path',
    'status',
  ]);
  const durations = createHistogram(
    'portcullis_http_response_duration_seconds',
    'Time to respond, by path.',
    BUCKET_BOUNDS,
    ['path'],
  );
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
  const families = () => [
    responses.family(),
    durations.family(),
    gauge('portcullis_http_requests_in_flight', 'Requests without a response yet.', inFlight),
  ];
  return { measure, families };

  function nameOf(path: string): string {
    if (applicationPath !== null && (path === applicationPath || path.startsWith(`${applicationPath}/`)))
      return applicationPath;
    if (path.startsWith('/.well-known/')) return '/.well-known/*';
    return PATHS.includes(path) ? path : 'other';
  }

  function noteEnd({ path, start }: MeasuredRequest, status: number | null): void {
    inFlight -= 1;
    if (status === null) return;
    responses.add(1, path, String(status));
    durations.record((performance.now() - start) / 1000, path);
  }

  function measureNode(response: NodeDelegate, one: MeasuredRequest): NodeDelegate {
    return {
      node: (incoming, outgoing) => {
        watchEnd(outgoing, one);
        response.node(incoming, outgoing);
      },
    };
  }

  /** A separate function, whose closure does not capture the delegate: an open stream would retain it. */
  function watchEnd(outgoing: ServerResponse, one: MeasuredRequest): void {
    outgoing.on('close', () => noteEnd(one, outgoing.headersSent ? outgoing.statusCode : null));
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

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
