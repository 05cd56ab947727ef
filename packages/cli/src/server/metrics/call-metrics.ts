/** Metrics of calls through the gateway, from their events. */
import type { LogEvent } from '../log.ts';
import { createDurations, type Durations } from './durations.ts';
import { family, histogram, labelsOf } from './prometheus-exposition.ts';

export interface CallMetrics {
  /** Counts an event `call.finished`. */
  count(event: LogEvent): void;
  expose(): readonly string[];
}

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Statistics of one server. Its path is configured, so requests cannot create any. */
interface ServerStatistics {
  /** By decision and outcome, with a space between. */
  readonly ends: Map<string, number>;
  readonly whole: Durations;
  readonly backend: Durations;
  received: number;
  sent: number;
}

export function createCallMetrics(): CallMetrics {
  const servers = new Map<string, ServerStatistics>();
  const distributions = (which: 'whole' | 'backend') =>
    [...servers].map(([server, statistics]) => ({ labels: { server }, ...statistics[which] }));
  const ends = () =>
    [...servers].flatMap(([server, statistics]) =>
      [...statistics.ends].map(([end, count]) => {
        const [decision = '', outcome = ''] = end.split(' ');
        return [labelsOf({ server, decision, outcome }), count] as const;
      }),
    );
  const bytes = (which: 'received' | 'sent') =>
    new Map([...servers].map(([server, statistics]) => [labelsOf({ server }), statistics[which]]));

  return {
    count({ server, decision, outcome, duration, backendDuration, requestBytes, responseBytes }) {
      const name = String(server);
      const statistics = servers.get(name) ?? createStatistics();
      servers.set(name, statistics);
      const end = `${decision} ${outcome}`;
      statistics.ends.set(end, (statistics.ends.get(end) ?? 0) + 1);
      statistics.whole.record(Number(duration) / 1000);
      statistics.backend.record(Number(backendDuration) / 1000);
      statistics.received += Number(requestBytes);
      statistics.sent += Number(responseBytes);
    },
    expose: () => [
      ...family(
        'portcullis_gateway_calls_total',
        'counter',
        'Requests through the gateway, by server, decision and outcome.',
        new Map(ends()),
      ),
      ...histogram(
        'portcullis_gateway_call_duration_seconds',
        'Time of requests through the gateway until their response ended, by server.',
        BUCKET_BOUNDS,
        distributions('whole'),
      ),
      ...histogram(
        'portcullis_gateway_backend_duration_seconds',
        'Of this, time spent waiting for the backend.',
        BUCKET_BOUNDS,
        distributions('backend'),
      ),
      ...family(
        'portcullis_gateway_received_bytes_total',
        'counter',
        'Bytes of request bodies, by server.',
        bytes('received'),
      ),
      ...family(
        'portcullis_gateway_sent_bytes_total',
        'counter',
        'Bytes of responses, by server.',
        bytes('sent'),
      ),
    ],
  };
}

function createStatistics(): ServerStatistics {
  return {
    ends: new Map(),
    whole: createDurations(BUCKET_BOUNDS),
    backend: createDurations(BUCKET_BOUNDS),
    received: 0,
    sent: 0,
  };
}
