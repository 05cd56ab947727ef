/** Events of the audit log, as the store returns them. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { idPrefixOf } from '../../src/operations/statistics/event-time.ts';

export const AT: number = Date.UTC(2026, 0, 1);

export function eventOf(
  type: string,
  details: AuditEventRecord['details'] = {},
  members: Partial<AuditEventRecord> = {},
): AuditEventRecord {
  const none = { clientId: null, accountId: null, grantId: null, resource: null, transactionId: null };
  return { ...none, id: `${idPrefixOf(AT)}-1-a`, at: AT, type, details, expiresAt: 0, ...members };
}
