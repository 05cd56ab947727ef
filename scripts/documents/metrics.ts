/** docs/metrics.md: the families of `/metrics`, as the program exposes them, and what to do when one moves. */
import { createComponentMetrics } from '../../packages/cli/src/server/metrics/component-metrics.ts';
import { createMetrics } from '../../packages/cli/src/server/metrics/metrics.ts';
import { table } from './markdown.ts';

/** Name → when it moves. A family without an entry, or an entry without a family, fails the generation. */
const ADVICE: Readonly<Record<string, string>> = {
  portcullis_events_total:
    'Alert on `type="refresh_token.reuse_detected"`: a predecessor was used after its successor, which no outage, clock or lost response causes. It means a stolen token or a client that two programs share: `portcullis events` names grant and client. Alert on `type="request.failed"` (the `reason` in the log is an error of this server or its database) and `type="sweep.failed"`',
  portcullis_http_responses_total:
    '503: the database is unavailable or slow; look at the database metrics. 429: a rate limit, see the log for the network. 500: `request.failed` in the log',
  portcullis_http_response_duration_seconds:
    "compare with the database's histogram: if only this rises, the processor is short; see CPU and event loop",
  portcullis_http_requests_in_flight:
    'rises when requests arrive faster than they are answered: database or processor, as above',
  portcullis_log_lines_dropped_total: 'the disk or the process behind standard output; see above',
  portcullis_audit_events_dropped_total:
    'the database was away for long, or someone floods the server with bad requests: the same events are in the log lines',
  portcullis_gateway_calls_total:
    '`outcome="unavailable"`: `portcullis servers test` says what is wrong. `decision="denied"` or `"invalid"` rising: `portcullis events --type call.finished --decision denied` names users and clients',
  portcullis_gateway_call_duration_seconds:
    'compare with the next: only if the difference rises, it is the gateway',
  portcullis_gateway_backend_duration_seconds: 'the backend is slow',
  portcullis_gateway_received_bytes_total: 'no action',
  portcullis_gateway_sent_bytes_total: 'no action',
  portcullis_approval_decision_duration_seconds:
    'above 25 seconds, clients have to send their calls again: more approvers, or `lasts` for what is allowed again and again',
  portcullis_database_operation_duration_seconds:
    'the database or its disk is slow, or the pool is too small: see the wait below',
  portcullis_database_failures_total:
    'look at `readiness.failed` and `request.failed` in the log, then at the database',
  portcullis_database_operations_in_flight:
    'as the requests in flight: a plateau means that the database stalls',
  portcullis_database_pool_busy_connections:
    'at `databasePoolSize` all the time: raise it, as far as the `max_connections` of all processes allow',
  portcullis_database_pool_waiting_operations:
    'above 0 for long: a larger pool if PostgreSQL is idle, otherwise look for locks and slow disks there',
  portcullis_database_pool_wait_seconds: 'the average wait should be far below a millisecond',
  portcullis_clock_skew_seconds:
    'above 5 either way: `clock.skewed` is logged; synchronize the clocks (NTP) of this computer and of the database',
  portcullis_sweep_deleted_rows_total: 'no action',
  portcullis_sweep_backlog_seconds:
    'up to 60 is normal. Alert above 3600: `sweep.failed` in the log, or the database cannot keep up',
  portcullis_approvals_pending:
    'rises: no approver decides, or an agent asks for too much; `portcullis approvals list` names users and clients',
  portcullis_webhook_attempts_total:
    '`outcome="failed"`: `portcullis webhooks list` has the reason. `outcome="rejected"`: `portcullis events --type webhook.event_rejected` names the events',
  portcullis_mail_attempts_total:
    '`outcome="failed"`: `portcullis mail status` has the reason. `outcome="rejected"`: `portcullis events --type mail.rejected` names the events',
  portcullis_mail_delay_seconds:
    'above 600: the mail server is down or slow; only the process that sends has a value',
  portcullis_webhook_delay_seconds:
    'above 600: the receiver, a webhook or an export, is down or slow, and events wait in the audit log; only the process that delivers has a value',
  portcullis_otlp_spans_total:
    '`outcome="lost"`: the collector rejects spans or is down (`otlp.failed` in the log), or is too slow for the queue of 2,048',
  process_cpu_seconds_total:
    'near one second a second: raise `processes`, start another server (PostgreSQL), or move to a faster processor',
  process_resident_memory_bytes: 'a rise over days without a rise in requests is a memory leak: report it',
  process_open_fds: 'near `ulimit -n`: raise the limit, or look for a proxy that leaves connections open',
  process_start_time_seconds:
    'changes without a deployment: the process ended; its exit code and last log lines say why',
  nodejs_eventloop_lag_p99_seconds:
    'above 0.1: the processor is short, or an application in this process blocks it',
};

/** Labels of the families that have any. */
const LABELS: Readonly<Record<string, readonly string[]>> = {
  portcullis_events_total: ['type', 'error', 'endpoint'],
  portcullis_http_responses_total: ['path', 'status'],
  portcullis_http_response_duration_seconds: ['path'],
  portcullis_approval_decision_duration_seconds: ['decision'],
  portcullis_webhook_attempts_total: ['webhook', 'outcome'],
  portcullis_webhook_delay_seconds: ['webhook'],
  portcullis_mail_attempts_total: ['outcome'],
  portcullis_otlp_spans_total: ['outcome'],
  portcullis_gateway_calls_total: ['server', 'decision', 'outcome'],
  portcullis_gateway_call_duration_seconds: ['server'],
  portcullis_gateway_backend_duration_seconds: ['server'],
  portcullis_gateway_received_bytes_total: ['server'],
  portcullis_gateway_sent_bytes_total: ['server'],
};

/** The whole page, in Markdown. */
export function metricsPage(): string {
  const families = createMetrics(null, () => 0, createComponentMetrics()).families();
  const names = families.map(({ name }) => name);
  const unknown = Object.keys(ADVICE).filter((name) => !names.includes(name));
  const missing = names.filter((name) => !(name in ADVICE));
  if (unknown.length + missing.length > 0)
    throw new Error(
      `scripts/documents/metrics.ts: missing ${missing.join(', ')}; unknown ${unknown.join(', ')}`,
    );
  const rows = families.map(({ name, help, type }) => {
    const labels = (LABELS[name] ?? []).map((label) => `\`${label}\``).join(', ');
    return [
      `\`${name}\``,
      `${help.replace(/\.$/, '')} (${type}${labels && `; ${labels}`})`,
      ADVICE[name] ?? '',
    ];
  });
  return `# Metrics

\`/metrics\` serves the text format of Prometheus. It requires \`PORTCULLIS_METRICS_TOKEN\`; any other request gets 404, as for a path that does not exist. Without that setting, programs on the same computer may read it while the public URL is local. This page is generated from the code (\`npm run documents\`).

\`\`\`sh
printf 'header = "Authorization: Bearer %s"' "$PORTCULLIS_METRICS_TOKEN" | curl -K - https://auth.example.com/metrics
\`\`\`

${table(['metric', 'what it counts (type; labels)', 'when it moves'], rows)}
`;
}
