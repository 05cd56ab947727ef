/** Counts for Prometheus: what happened, what was answered, and how the process fares. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathOf } from '@portcullis/http';
import type { HttpHandler } from '@portcullis/http/node';
import type { LogEvent } from './log.ts';
import { type Distribution, family, gauge, histogram, labelsOf } from './prometheus-exposition.ts';

export interface Metrics {
  /** Counts an event. */
  count(event: LogEvent): void;
  /** A handler whose answers are counted and timed. */
  measure(handler: HttpHandler): HttpHandler;
  /** @see Prometheus text exposition format 0.0.4 */
  expose(): string;
}

/** Seconds, upper bounds of the classes of durations. */
const CLASSES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Paths that are told apart; whatever else a stranger asks for is one. */
const PATHS = ['/authorize', '/token', '/register', '/revoke', '/introspect', '/jwks', '/login', '/consent'];

/** The answers at a path. */
interface Answered {
  readonly statuses: Map<number, number>;
  /** By class of duration. */
  readonly counts: number[];
  /** Seconds. */
  sum: number;
}

type Answers = Map<string, Answered>;

/** @param applicationPath `null`: there is no application in this process */
export function createMetrics(applicationPath: string | null): Metrics {
  const events: Series = new Map();
  const answers: Answers = new Map();
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
      // Most have nothing but a type, which is a text that is there already.
      const name = error === undefined && endpoint === undefined ? type : `${type}\n${error}\n${endpoint}`;
      increase(events, name, () =>
        labelsOf({ type, ...pick('error', error), ...pick('endpoint', endpoint) }),
      );
    },
    measure: (handler) => (asked, connection) => {
      const start = performance.now();
      const path = nameOf(pathOf(asked));
      const noteAnswer = <A extends { readonly status: number }>(answer: A): A => {
        note(answers, path, answer.status, (performance.now() - start) / 1000);
        return answer;
      };
      return handler(asked, connection).then((answer) => {
        if (!('fetch' in answer)) return noteAnswer(answer);
        return { fetch: async (request) => noteAnswer(await answer.fetch(request)) };
      });
    },
    expose: () =>
      [
        ...family('portcullis_events_total', 'counter', 'What happened, by type.', written(events)),
        ...family(
          'portcullis_http_responses_total',
          'counter',
          'Answers, by path and status.',
          statusesOf(answers),
        ),
        ...histogram(
          'portcullis_http_duration_seconds',
          'Time to the answer, by path.',
          CLASSES,
          durationsOf(answers),
        ),
        ...gauge('process_resident_memory_bytes', 'Memory of the process.', process.memoryUsage.rss()),
        ...gauge('process_uptime_seconds', 'Since the process began.', process.uptime()),
        ...gauge(
          'nodejs_eventloop_lag_p99_seconds',
          'How late the event loop is, at the 99th percentile.',
          delay.percentile(99) / 1e9,
        ),
        '',
      ].join('\n'),
  };
}

function pick(name: string, value: unknown): Readonly<Record<string, string>> {
  return typeof value === 'string' ? { [name]: value } : {};
}

/** Combinations of labels that are counted; the words are ours, so there are never many. */
const MOST_SERIES = 1_000;

/** Counts by a short name of their labels, which are written out once. */
type Series = Map<string, { readonly labels: string; count: number }>;

function increase(series: Series, name: string, labels: () => string): void {
  const found = series.get(name);
  if (found !== undefined) found.count += 1;
  else if (series.size < MOST_SERIES) series.set(name, { labels: labels(), count: 1 });
}

function written(series: Series): ReadonlyMap<string, number> {
  return new Map([...series.values()].map(({ labels, count }) => [labels, count]));
}

function note(answers: Answers, path: string, status: number, seconds: number): void {
  let found = answers.get(path);
  if (found === undefined) {
    found = { statuses: new Map(), counts: Array.from({ length: CLASSES.length + 1 }, () => 0), sum: 0 };
    answers.set(path, found);
  }
  found.statuses.set(status, (found.statuses.get(status) ?? 0) + 1);
  const index = CLASSES.findIndex((bound) => seconds <= bound);
  const place = index === -1 ? CLASSES.length : index;
  found.counts[place] = (found.counts[place] ?? 0) + 1;
  found.sum += seconds;
}

function statusesOf(answers: Answers): ReadonlyMap<string, number> {
  const counts = [...answers].flatMap(([path, { statuses }]) =>
    [...statuses].map(([status, count]): [string, number] => [
      labelsOf({ path, status: String(status) }),
      count,
    ]),
  );
  return new Map(counts);
}

function durationsOf(answers: Answers): readonly Distribution[] {
  return [...answers].map(([path, { counts, sum }]) => ({ labels: { path }, counts, sum }));
}
