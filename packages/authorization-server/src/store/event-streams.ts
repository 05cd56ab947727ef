/** The event streams of receivers of security events. No capability of the authorization server: its administration uses it. */

/** The stream of a receiver. Times in epoch seconds. @see Shared Signals Framework 1.0 §8.1.1 */
export interface EventStreamRecord {
  /** Starts with `stream_`. */
  readonly id: string;
  /** The client that is the receiver. */
  readonly clientId: string;
  /** Where tokens are pushed; `null`: they are polled. */
  readonly endpoint: string | null;
  /** The `Authorization` header for it; `null`: none. */
  readonly encryptedAuthorization: Uint8Array | null;
  /** Types of events, as the receiver requested them; empty: all. */
  readonly eventsRequested: readonly string[];
  readonly description: string | null;
  readonly status: 'enabled' | 'paused' | 'disabled';
  /** Why it has its status. */
  readonly reason: string | null;
  /** Accounts that the receiver wants no events about. */
  readonly removedAccounts: readonly string[];
  /** Of a stream that is polled: all audit events up to this identifier are acknowledged, or not for this stream. */
  readonly cursor: string;
  /** The last acknowledged token after that; `null`: none. */
  readonly acknowledged: string | null;
  readonly verificationRequestedAt: number;
  readonly createdAt: number;
  /** Incremented by each change. */
  readonly version: number;
}

/** The event streams of all receivers. */
export interface EventStreamStore {
  /** Atomic. @returns `false`, and stores nothing, if its client has `limit` streams already */
  createEventStream(stream: EventStreamRecord, limit: number): Promise<boolean>;
  findEventStream(id: string): Promise<EventStreamRecord | null>;
  /** Ordered by identifier; there are few. */
  listEventStreams(): Promise<readonly EventStreamRecord[]>;
  /** Atomic: saves a stream that is stored with `version` one lower. @returns `false` if another version is stored, or none */
  saveEventStream(stream: EventStreamRecord): Promise<boolean>;
  /** Removes a stream with the progress of its delivery. @returns `false` for an unknown one */
  removeEventStream(id: string): Promise<boolean>;
  /** The resources of the grants that an account had at a time, give or take seconds. @param at epoch seconds */
  listGrantedResources(accountId: string, at: number): Promise<readonly string[]>;
}
