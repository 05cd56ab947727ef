/** Metrics that explain: each family is named by convention and documented with what to do when it moves. */
import { readFileSync } from 'node:fs';
import { respondJson } from '@portcullis/http';
import { openStore } from '@portcullis/store';
import { describe, expect, it } from 'vitest';
import { createComponentMetrics } from '../src/server/metrics/component-metrics.ts';
import { createDatabaseMetrics } from '../src/server/metrics/database-metrics.ts';
import { createMetrics } from '../src/server/metrics/metrics.ts';
import { formatMetrics } from '../src/server/metrics/prometheus-exposition.ts';

const HERE = { address: '127.0.0.1', security: 'loopback' } as const;

function read(text: string, name: string): number {
  const [, value] =
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ') ?? [];
  return Number(value);
}

/** Of all components of a process. */
function exposeAll(): string {
  return formatMetrics(createMetrics(null, () => 0, createComponentMetrics()).families());
}

describe('metrics', () => {
  it('documents every metric with what to do when it moves, and no other', () => {
    const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `((?:portcullis|process|nodejs)_\w+)` \|.* \| [^|]+ \|$/gm)];
    const families = [...exposeAll().matchAll(/^# TYPE (\S+) /gm)];
    expect(rows.map(([, name]) => name)).toEqual(families.map(([, name]) => name));
  });

  it('names every metric by the conventions of Prometheus', () => {
    const text = exposeAll();
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      expect(name.endsWith('_total')).toBe(type === 'counter');
      if (type === 'histogram' || type === 'summary') expect(name).toMatch(/_seconds$/);
      expect(text).toContain(`# HELP ${name} `);
    }
  });

  it('shows requests in flight until they are answered, also by an error', async () => {
    const metrics = createMetrics(null, () => 0, createDatabaseMetrics());
    const answer = Promise.withResolvers<void>();
    const handle = metrics.measure(async ({ url }) => {
      await answer.promise;
      if (url.endsWith('/broken')) throw new Error('broken');
      return respondJson({});
    });
    const requests = ['/token', '/broken'].map((path) =>
      handle(new Request(`http://localhost${path}`), HERE),
    );
    expect(read(formatMetrics(metrics.families()), 'portcullis_http_requests_in_flight')).toBe(2);
    answer.resolve();
    expect((await Promise.allSettled(requests)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
    ]);
    expect(read(formatMetrics(metrics.families()), 'portcullis_http_requests_in_flight')).toBe(0);
    expect(formatMetrics(metrics.families())).toContain(
      'portcullis_http_response_duration_seconds_bucket{path="/token",le="5"} 1',
    );
  });

  it('times the operations of the database, and counts those that fail', async () => {
    const database = createDatabaseMetrics();
    const store = database.measure(await openStore(':memory:'));
    await store.ping();
    await store.close();
    await expect(store.ping()).rejects.toThrow();
    const text = formatMetrics(database.families());
    expect(read(text, 'portcullis_database_operation_duration_seconds_count')).toBe(3);
    expect(read(text, 'portcullis_database_failures_total')).toBe(1);
    expect(read(text, 'portcullis_database_operations_in_flight')).toBe(0);
  });

  it('shows how many calls wait for approval, and how long they waited for a decision', () => {
    const database = createDatabaseMetrics();
    database.sweeps.pendingApprovals = 3;
    const metrics = createMetrics(null, () => 0, database);
    metrics.count({ type: 'approval.granted', waited: 20 });
    metrics.count({ type: 'approval.denied', waited: 90 });
    const text = formatMetrics(metrics.families());
    expect(read(text, 'portcullis_approvals_pending')).toBe(3);
    const name = 'portcullis_approval_decision_duration_seconds';
    expect(read(text, `${name}_bucket{decision="granted",le="25"}`)).toBe(1);
    expect(read(text, `${name}_bucket{decision="denied",le="60"}`)).toBe(0);
    expect(read(text, `${name}_sum{decision="denied"}`)).toBe(90);
  });

  it('shows how long sweeping has been behind', () => {
    let now = 1000;
    const database = createDatabaseMetrics(() => now);
    now = 1090;
    expect(read(formatMetrics(database.families()), 'portcullis_sweep_backlog_seconds')).toBe(90);
    database.sweeps.caughtUpAt = 1085;
    expect(read(formatMetrics(database.families()), 'portcullis_sweep_backlog_seconds')).toBe(5);
  });

  it('counts the events that the audit log dropped', () => {
    const metrics = createMetrics(null, () => 0, createDatabaseMetrics());
    metrics.count({ type: 'audit.dropped', count: 17 });
    expect(read(formatMetrics(metrics.families()), 'portcullis_audit_events_dropped_total')).toBe(17);
  });
});
