/** What carries the messages of the stdio bridge to a server and back. */
import type { Fetch } from '@portcullis/client';
import type { Message } from '@portcullis/http';

export interface MessageTransportOptions {
  readonly url: string;
  /** Authorized fetch for every request. */
  readonly fetch: Fetch;
  /** Receives every message of the server, in order. */
  readonly receive: (message: Message) => void;
  /** Receives errors that no message can report. */
  readonly complain?: (error: unknown) => void;
  /** Waits for a number of milliseconds. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
  /** Receives the message endpoint that an HTTP+SSE server names: `fetch` has to send the token there too. */
  readonly acceptEndpoint?: (endpoint: URL) => void;
}

export interface MessageTransport {
  /**
   * Sends a message. Resolves when the server has accepted it; for a request, when its response has been received.
   * Every request gets a response: an error created here if the server sends none.
   */
  send(message: Message): Promise<void>;
  /** Ends the session at the server, and all pending requests. */
  close(): Promise<void>;
}
