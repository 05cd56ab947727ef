/** The store capability `audit`: the audit log. */

/** An audit event. It contains no secret. */
export interface AuditEventRecord {
  /** Sorts by time, as far as the clocks of processes agree. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly type: string;
  readonly clientId: string | null;
  readonly accountId: string | null;
  readonly grantId: string | null;
  readonly resource: string | null;
  /** The authorization transaction it belongs to. */
  readonly transactionId: string | null;
  /** All other members. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Epoch seconds after which it is swept. */
  readonly expiresAt: number;
}

/** Which events are searched for. `null` matches any. */
export interface AuditEventSearch {
  /** The first identifier, or a prefix of it. Like `before`, it limits how many events one search reads. */
  readonly from: string;
  /** Events from this identifier on are left out. */
  readonly before: string;
  /** A type, or all types below a name: `token.*`. */
  readonly type: string | null;
  readonly clientId: string | null;
  readonly accountId: string | null;
  readonly grantId: string | null;
  /** A text among the details: its name and value. More may match, where JSON escapes the value. */
  readonly detail: readonly [name: string, value: string] | null;
}

/** Audit events in the store. */
export interface AuditStore {
  /** Appends events. Atomic: all or none. An event whose identifier exists is skipped. */
  appendEvents(events: readonly AuditEventRecord[]): Promise<void>;
  /**
   * Calls `call` once, right before the next commit and after `within` milliseconds at the latest: events that it appends join
   * that commit for free. A store that commits each operation alone just waits.
   */
  beforeCommit(call: () => void, within: number): void;
  /** Events after an identifier (empty: from the first), oldest first. */
  listEvents(after: string, limit: number): Promise<readonly AuditEventRecord[]>;
  /** The latest events, or the latest before an identifier, oldest first. */
  listLatestEvents(limit: number, before?: string): Promise<readonly AuditEventRecord[]>;
  /** The latest events that match, oldest first. Only the time is indexed: each event between `from` and `before` is read. */
  searchEvents(search: AuditEventSearch, limit: number): Promise<readonly AuditEventRecord[]>;
  /** The events of one authorization transaction, oldest first. */
  listTransactionEvents(transactionId: string, limit: number): Promise<readonly AuditEventRecord[]>;
}
