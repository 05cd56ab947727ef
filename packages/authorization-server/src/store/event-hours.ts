/** What is known of the audit events of each hour. No capability of the authorization server: its administration uses it. */

/** How much there is at a time. */
export interface LiveCounts {
  readonly grants: number;
  /** Those that were used. */
  readonly clients: number;
  /** Browser sessions. */
  readonly sessions: number;
}

/** The events of one hour, counted. */
export interface EventHour {
  /** Epoch seconds of its begin. */
  readonly at: number;
  /** Written by the administration, and read by it only. */
  readonly counts: Readonly<Record<string, unknown>>;
}

/** Which values the events of one hour have, as a filter. */
export interface EventHourKeys {
  readonly at: number;
  readonly keys: Uint8Array;
}

/** Counted hours of the audit log. */
export interface EventHourStore {
  /** Replaces what was saved for the hour: processes that count the same events save the same. */
  saveEventHour(hour: EventHour & EventHourKeys): Promise<void>;
  /** Those from a time on and before another (epoch seconds), in order. */
  listEventHours(from: number, before: number): Promise<readonly EventHour[]>;
  /** As `listEventHours`, the latest first. */
  listEventHourKeys(from: number, before: number): Promise<readonly EventHourKeys[]>;
  /** Reads indexes as a whole: for a count an hour. @param now epoch seconds */
  countLive(now: number): Promise<LiveCounts>;
}
