/** An event as receivers get it. @see Standard Webhooks 1.0, "Payload structure" */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

export function eventBody(event: AuditEventRecord): object {
  const { id, at, type } = event;
  return { id, type, timestamp: new Date(at).toISOString(), data: membersOf(event) };
}

/** The members that are known of an event. */
export function membersOf(event: AuditEventRecord): Readonly<Record<string, unknown>> {
  const { id: _id, at: _at, type: _type, expiresAt: _expiresAt, details, ...members } = event;
  return Object.fromEntries(Object.entries({ ...members, ...details }).filter(([, value]) => value !== null));
}
