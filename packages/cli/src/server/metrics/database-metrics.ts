/** Metrics of the database: how long operations take and wait, and how far sweeping is behind. */
import { currentTracer, inSpan, type Span } from '@portcullis/protocol';
import type { FullStore, PoolStatistics } from '@portcullis/store';
import type { ClockSkew } from '../clock-skew.ts';
import type { SweepProgress } from '../sweep-expired.ts';
import { createHistogram } from './instruments.ts';
import { counter, type Family, gauge } from './prometheus-exposition.ts';

/** Operations of background work, which no request waits for, have no span. */
function startOperation(name: string): Span | null {
  const tracer = currentTracer();
  if (tracer === null || tracer.active() === null) return null;
  return tracer.start(`store ${name}`, { kind: 'client', attributes: { 'db.operation.name': name } });
}

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @param clock epoch seconds */
export function createDatabaseMetrics(clock: () => number = () => Math.floor(Date.now() / 1000)) {
  /** Kept current by the store. */
  const pool: PoolStatistics = { busy: 0, waiting: 0, waits: 0, waitSeconds: 0 };
  /** Kept current by the sweeps. */
  const sweeps: SweepProgress = { deleted: 0, caughtUpAt: clock(), pendingApprovals: 0 };
  /** Kept current by comparing clocks. */
  const clockSkew: ClockSkew = { seconds: 0 };
  const durations = createHistogram(
    'portcullis_database_operation_duration_seconds',
    'Time of database operations, with the wait for a connection.',
    BUCKET_BOUNDS,
    [],
  );
  const counts = { inFlight: 0, failed: 0 };

  function time(name: string, result: Promise<unknown>): Promise<unknown> {
    const start = performance.now();
    counts.inFlight += 1;
    const end = () => {
      counts.inFlight -= 1;
      durations.record((performance.now() - start) / 1000);
    };
    return inSpan(startOperation(name), () => result).then(
      (value) => {
        end();
        return value;
      },
      (error: unknown) => {
        counts.failed += 1;
        end();
        throw error;
      },
    );
  }

  function timed(name: string, operation: (...values: unknown[]) => unknown) {
    return (...values: unknown[]) => {
      const result = operation(...values);
      return result instanceof Promise ? time(name, result) : result;
    };
  }

  return {
    pool,
    sweeps,
    clockSkew,
    /** Wraps a store to time its operations. */
    measure: (store: FullStore) =>
      Object.fromEntries(
        Object.entries(store).map(([name, member]) => [
          name,
          typeof member === 'function' ? timed(name, member) : member,
        ]),
      ) as unknown as FullStore,
    families: (): readonly Family[] => [
      durations.family(),
      counter('portcullis_database_failures_total', 'Database operations that failed.', counts.failed),
      gauge('portcullis_database_operations_in_flight', 'Unfinished database operations.', counts.inFlight),
      gauge('portcullis_database_pool_busy_connections', 'PostgreSQL connections in use.', pool.busy),
      gauge(
        'portcullis_database_pool_waiting_operations',
        'Operations that wait for a PostgreSQL connection.',
        pool.waiting,
      ),
      {
        name: 'portcullis_database_pool_wait_seconds',
        help: 'Time that operations waited for a PostgreSQL connection.',
        type: 'histogram',
        bounds: [],
        samples: [{ labels: {}, counts: [pool.waits], sum: pool.waitSeconds }],
      },
      gauge(
        'portcullis_clock_skew_seconds',
        'Seconds by which the clock of this process is ahead of that of PostgreSQL.',
        clockSkew.seconds,
      ),
      counter('portcullis_sweep_deleted_rows_total', 'Expired rows deleted.', sweeps.deleted),
      gauge(
        'portcullis_sweep_backlog_seconds',
        'Time since no expired row was left, or another process was sweeping.',
        Math.max(0, clock() - sweeps.caughtUpAt),
      ),
      gauge(
        'portcullis_approvals_pending',
        'Calls that waited for an approver at the last sweep, a minute ago at most; at most 1000.',
        sweeps.pendingApprovals,
      ),
    ],
  };
}
