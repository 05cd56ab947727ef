/** How severe an event is, for formats that say so. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

/** `critical`: a token or a code was stolen, or something behaves as if it were. */
export type Severity = 'information' | 'warning' | 'critical';

const CRITICAL: ReadonlySet<string> = new Set([
  'authorization_code.replayed',
  'passkey.clone_detected',
  'refresh_token.reuse_detected',
]);

const FAILURE = /[._](?:denied|dropped|failed|rejected)$/;

/** Whether an event reports that something was refused or went wrong. */
export function isFailure({ type, details }: Pick<AuditEventRecord, 'type' | 'details'>): boolean {
  if (type === 'call.finished') return details['decision'] !== 'allowed' || details['outcome'] !== 'answered';
  return FAILURE.test(type) || CRITICAL.has(type);
}

export function severityOf(event: Pick<AuditEventRecord, 'type' | 'details'>): Severity {
  if (CRITICAL.has(event.type)) return 'critical';
  return isFailure(event) ? 'warning' : 'information';
}
