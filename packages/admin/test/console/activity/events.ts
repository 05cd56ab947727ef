/** Events of an authorization, as the server records them. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

const BEGIN = Date.UTC(2026, 2, 1, 4);

/** @param after milliseconds since the first event */
export function eventOf(
  type: string,
  after = 0,
  { details = {}, ...more }: Partial<AuditEventRecord> = {},
): AuditEventRecord {
  const at = BEGIN + after;
  return {
    ...{
      id: `${at.toString(36).padStart(9, '0')}-${type.replaceAll('.', '-')}`,
      at,
      type,
      clientId: 'notes',
      accountId: 'user_ada',
    },
    ...{ grantId: 'grant_1', resource: null, transactionId: 'flow_1', expiresAt: 0, ...more, details },
  };
}
