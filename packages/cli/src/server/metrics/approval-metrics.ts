/** Metrics of approvals: how long calls waited for a decision, from its event. */
import type { LogEvent } from '../log.ts';
import { createDurations, type Durations } from './durations.ts';
import { histogram } from './prometheus-exposition.ts';

export interface ApprovalMetrics {
  /** Counts an event `approval.granted` or `approval.denied`. */
  count(event: LogEvent): void;
  expose(): readonly string[];
}

/** Upper bounds of the duration buckets, in seconds. */
const BUCKET_BOUNDS = [5, 10, 25, 60, 300, 900, 1800, 3600];

export function createApprovalMetrics(): ApprovalMetrics {
  const decisions = new Map<string, Durations>();
  return {
    count({ type, waited }) {
      const decision = type === 'approval.granted' ? 'granted' : 'denied';
      const durations = decisions.get(decision) ?? createDurations(BUCKET_BOUNDS);
      decisions.set(decision, durations);
      durations.record(Number(waited));
    },
    expose: () =>
      histogram(
        'portcullis_approval_decision_duration_seconds',
        'Time until an approver decided on a page of this process, by decision.',
        BUCKET_BOUNDS,
        [...decisions].map(([decision, durations]) => ({ labels: { decision }, ...durations })),
      ),
  };
}
