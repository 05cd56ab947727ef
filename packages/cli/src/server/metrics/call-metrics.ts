/** Metrics of calls through the gateway, from their events. */
import type { LogEvent } from '../log.ts';
import { createCounter, createHistogram } from './instruments.ts';

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Paths of servers are configured, so requests cannot create any. */
export function createCallMetrics() {
  const calls = createCounter(
    'portcullis_gateway_calls_total',
    'Requests through the gateway, by server, decision and outcome.',
    ['server', 'decision', 'outcome'],
  );
  const durations = createHistogram(
    'portcullis_gateway_call_duration_seconds',
    'Time of requests through the gateway until their response ended, by server.',
    BUCKET_BOUNDS,
    ['server'],
  );
  const backendDurations = createHistogram(
    'portcullis_gateway_backend_duration_seconds',
    'Of this, time spent waiting for the backend.',
    BUCKET_BOUNDS,
    ['server'],
  );
  const received = createCounter(
    'portcullis_gateway_received_bytes_total',
    'Bytes of request bodies, by server.',
    ['server'],
  );
  const sent = createCounter('portcullis_gateway_sent_bytes_total', 'Bytes of responses, by server.', [
    'server',
  ]);
  return {
    /** Counts an event `call.finished`. */
    count({ server, decision, outcome, ...event }: LogEvent): void {
      const name = String(server);
      calls.add(1, name, String(decision), String(outcome));
      durations.record(Number(event['duration']) / 1000, name);
      backendDurations.record(Number(event['backendDuration']) / 1000, name);
      received.add(Number(event['requestBytes']), name);
      sent.add(Number(event['responseBytes']), name);
    },
    families: () => [calls, durations, backendDurations, received, sent].map((one) => one.family()),
  };
}
