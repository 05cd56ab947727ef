/** Requests that wait for a backend, and whose they are. */

import type { Message, MessageId } from '@portcullis/http';
import type { Call } from './backend.ts';

/** One client's part of an exchange. */
export interface View {
  /** The client whose session it is; empty for the gateway itself. */
  readonly client: string;
  readonly listeners: Set<(message: Message) => void>;
}

/** A request that waits for its response. */
export interface PendingRequest {
  readonly view: View;
  readonly progressToken: unknown;
  readonly call: Call;
  readonly settle: (outcome: Message | Error) => void;
  /** Restarts the timeout; `null` stops it. */
  readonly wait: (milliseconds: number | null) => void;
}

export type PendingRequests = ReadonlyMap<MessageId, PendingRequest>;

/** Delivers a message that belongs to no request. */
export function deliver(view: View, message: Message): void {
  for (const receive of view.listeners) receive(message);
}

export function isOfOneClient(views: Iterable<View>): boolean {
  return new Set([...views].map(({ client }) => client)).size <= 1;
}
