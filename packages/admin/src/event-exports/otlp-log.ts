/** An event as a log record of OTLP, in JSON. @see OpenTelemetry protocol 1.9, logs; OTLP/HTTP, JSON */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { membersOf } from '../webhooks/event-body.ts';
import { type Severity, severityOf } from './severity.ts';

const SEVERITIES: Readonly<Record<Severity, readonly [number, string]>> = {
  information: [9, 'INFO'],
  warning: [13, 'WARN'],
  critical: [17, 'ERROR'],
};

type Members = Readonly<Record<string, unknown>>;

export function toOtlpLog(event: AuditEventRecord): object {
  const { id, at, type } = event;
  const [severityNumber, severityText] = SEVERITIES[severityOf(event)];
  const { traceId, ...members } = membersOf(event);
  const record = {
    timeUnixNano: `${at}000000`,
    severityNumber,
    severityText,
    eventName: type,
    body: { stringValue: type },
    attributes: attributesOf({ 'log.record.uid': id, ...members }),
    ...(typeof traceId === 'string' && { traceId }),
  };
  const resource = { attributes: attributesOf({ 'service.name': 'portcullis' }) };
  const scopeLogs = [{ scope: { name: '@portcullis/admin' }, logRecords: [record] }];
  return { resourceLogs: [{ resource, scopeLogs }] };
}

function attributesOf(members: Members): readonly object[] {
  return Object.entries(members).map(([key, value]) => ({ key, value: valueFrom(value) }));
}

function valueFrom(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueFrom) } };
  return { stringValue: JSON.stringify(value) };
}

/**
 * A collector may reject a record with a status of success. The reason is always the same: an event is given up after the same one
 * three times, and texts of collectors differ each time.
 * @see OpenTelemetry protocol 1.9, partial success
 */
export function findOtlpRejection(body: string): string | null {
  try {
    const { partialSuccess } = JSON.parse(body) as { readonly partialSuccess?: Members };
    const rejected = Number(partialSuccess?.['rejectedLogRecords'] ?? 0);
    return rejected > 0 ? 'rejected by the collector, whose log says why' : null;
  } catch {
    return null;
  }
}
