/** What a store must do for the audit log. */

/** What happened, once. It holds no secret. */
export interface AuditEventRecord {
  /** In the order of time, as far as clocks of processes agree. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly type: string;
  readonly clientId: string | null;
  readonly accountId: string | null;
  readonly grantId: string | null;
  readonly resource: string | null;
  /** The authorization request that it belongs to. */
  readonly transactionId: string | null;
  /** Everything else that is known of it. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Epoch seconds after which it is forgotten. */
  readonly expiresAt: number;
}

export interface AuditStore {
  /** Adds events. One fact: all of them or none. One that is there already stays. */
  appendEvents(events: readonly AuditEventRecord[]): Promise<void>;
  /**
   * Calls once, right before facts are committed, and at the latest after so many milliseconds: events that are appended by
   * that call cost no commit of their own. Where every fact is committed alone, it just waits.
   */
  beforeCommit(call: () => void, within: number): void;
  /** Events behind an identifier (the empty text: from the first), oldest first, at most `limit`. */
  listEvents(after: string, limit: number): Promise<readonly AuditEventRecord[]>;
  /** The last events, oldest first, at most `limit`. */
  listLatestEvents(limit: number): Promise<readonly AuditEventRecord[]>;
  /** Everything of one authorization request, oldest first, at most `limit`. */
  listTransactionEvents(transactionId: string, limit: number): Promise<readonly AuditEventRecord[]>;
}
