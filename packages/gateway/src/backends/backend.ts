/** The port of a backend: sessions of whole JSON-RPC messages, whatever its transport and protocol revision. */

import {
  IncompleteResponse,
  type JsonFields,
  type Message,
  type RequestMessage,
  ResponseTooLong,
} from '@portcullis/http';
import type { Principal } from '@portcullis/resource-server';
import {
  type BackendAnswer,
  type BackendCredential,
  ConnectionRequired,
} from '../credentials/credential-source.ts';
import type { Owner } from '../servers/request.ts';

/** Parameters of `initialize`, as the client sent them. */
export interface InitializeParams {
  readonly protocolVersion: string;
  readonly capabilities: JsonFields;
  readonly clientInfo: JsonFields;
}

/** Result of `initialize`, in the form of the revisions with sessions. */
export interface InitializeResult extends JsonFields {
  readonly protocolVersion: string;
  readonly capabilities: JsonFields;
}

/** A backend that exchanges whole messages. */
export interface MessageBackend {
  /**
   * Opens a session for a client.
   * @throws BackendError when the backend cannot be started or reached
   */
  open(owner: Owner, initialize: InitializeParams, access: BackendAccess): Promise<BackendSession>;
  /** Whether the last attempt to reach or start it succeeded. */
  isUp(): boolean;
  /** Closes its sessions, processes and connections. */
  close(): Promise<void>;
}

/** The credential of a session's user, obtained for each request: it is renewed while the session is open. */
export interface BackendAccess {
  /** The gateway's own session for one list: a process that was started for it ends with it. */
  readonly isBrief?: boolean;
  /** Clients without a token share it, who must not receive each other's messages. */
  readonly isShared?: boolean;
  /** `null` for the gateway itself, which only probes. */
  readonly principal: Principal | null;
  credential(): BackendCredential | Promise<BackendCredential>;
  rejected(
    answer: BackendAnswer,
    credential: BackendCredential,
  ): Promise<'retry' | 'final' | ConnectionRequired>;
}

/** A session with a backend. Its messages have the form of the revisions with sessions, whatever the backend speaks. */
export interface BackendSession {
  readonly initialized: InitializeResult;
  /**
   * Sends a request. The response has its id; messages that belong to it, such as progress and requests of the server, go to
   * the call before it.
   * @throws BackendError when the backend does not respond
   */
  request(message: RequestMessage, call: Call): Promise<Message>;
  /**
   * Sends a notification, or the response to a request that this session delivered.
   * @param sender who sends it; absent for the gateway itself
   * @throws BackendError when the backend does not accept it, `not_pending` for a response that no request waits for
   */
  notify(message: Message, sender?: Pick<Call, 'network' | 'principal'>): Promise<void>;
  /** Subscribes to messages without a request. @returns an unsubscribe function */
  listen(receive: (message: Message) => void): () => void;
  /** Resolves when the session has ended at the backend or was closed here; the client's next request opens a new one. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** A request in flight. */
export interface Call {
  /** Aborts when the client has cancelled it or disappeared: the backend is notified. */
  readonly signal: AbortSignal;
  /** Absent for requests of the gateway itself: what arrives during them goes to the listeners of the session. */
  readonly receive?: (message: Message) => void;
  /** The client's network address; absent for requests of the gateway itself. */
  readonly network?: string;
  /** Of this request: its token may allow less than the one with which the session was opened. */
  readonly principal?: Principal;
}

/** The reason why a backend did not respond. */
export type BackendFailure =
  | 'unavailable'
  /** The connection or the process ended after the request was sent. */
  | 'lost'
  /** The backend no longer has the session, and has not executed the request. */
  | 'session_unknown'
  | 'timeout'
  | 'overloaded'
  | 'refused'
  | 'not_pending'
  | 'challenged';

/** A backend did not respond. The message is one sentence for callers. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly failure: BackendFailure;
  /** Seconds after which another attempt may succeed; `null`: the same request will fail again. */
  readonly retryAfter: number | null;
  /** HTTP status of its response; `null` without one, or over another transport. */
  readonly status: number | null;

  constructor(
    failure: BackendFailure,
    message: string,
    retryAfter: number | null = 5,
    status: number | null = null,
  ) {
    super(message);
    this.failure = failure;
    this.retryAfter = retryAfter;
    this.status = status;
  }
}

/** Rethrows errors for callers unchanged; any other error of the connection becomes a `BackendError`. */
export function toFailure(error: unknown, name: string): Error {
  if (error instanceof BackendError || error instanceof ConnectionRequired) return error;
  if (error instanceof IncompleteResponse && error.cause !== undefined) return toFailure(error.cause, name);
  if (error instanceof ResponseTooLong)
    return new BackendError('unavailable', 'The server sent a message that is longer than the limit.');
  const reason = error instanceof Error ? error.message : 'unknown error';
  return new BackendError('lost', `${name} cannot be reached (${reason}).`);
}

/** Sends a request once more, in a new session, if the backend no longer had the first one. @see MCP Streamable HTTP, session management */
export function orInNewSession<T>(send: () => Promise<T>): Promise<T> {
  return send().catch((error) => {
    if (error instanceof BackendError && error.failure === 'session_unknown') return send();
    throw error;
  });
}

/** An error before the request of a client was sent: the backend has executed nothing of it. */
export function withNothingSent(error: unknown): unknown {
  if (!(error instanceof BackendError) || (error.failure !== 'lost' && error.failure !== 'timeout'))
    return error;
  return new BackendError('unavailable', error.message, error.retryAfter, error.status);
}
