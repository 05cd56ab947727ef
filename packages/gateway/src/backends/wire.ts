/** What carries messages to a backend: standard input of a process, an HTTP+SSE connection, a session of streamable HTTP. */
import type { Message, MessageId } from '@portcullis/http';

export interface Wire {
  /**
   * Sends a message. A wire that sees the response of a request on a connection of its own resolves after it.
   * @throws BackendError
   */
  send(message: Message, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Where a wire delivers. */
export interface WireReceiver {
  /** @param relatedTo the request on whose connection the message arrived; `null` if the wire has one connection for all */
  accept(message: Message, relatedTo: MessageId | null): void;
  /** The wire has ended: nothing is received any more. */
  fail(error: Error): void;
}

/** Milliseconds. */
export interface ExchangeTimeouts {
  /** Until the first message for a request. */
  readonly first: number;
  /** Between messages for a request. */
  readonly next: number;
}
