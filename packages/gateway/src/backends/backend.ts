/** The port of a backend: sessions of whole JSON-RPC messages, whatever wire the backend speaks. */
import type { BackendCredential } from '../credentials/credential-source.ts';
import type { Owner } from '../servers/owner.ts';
import type { Members, Message, RequestMessage } from './message.ts';

/** Parameters of `initialize`, as the client sent them. */
export interface InitializeParams {
  readonly protocolVersion: string;
  readonly capabilities: Members;
  readonly clientInfo: Members;
}

/** Result of `initialize`, in the form of the revisions with sessions. */
export interface InitializeResult extends Members {
  readonly protocolVersion: string;
  readonly capabilities: Members;
}

/** A backend that is reached by whole messages. */
export interface Backend {
  /**
   * Opens a session for a client.
   * @throws BackendError when the backend cannot be started or reached
   */
  open(owner: Owner, initialize: InitializeParams, credential: BackendCredential): Promise<BackendSession>;
  /** Whether it answers now. Starts nothing that only a call would start. */
  probe(): Promise<BackendHealth>;
  /** Ends its sessions, processes and connections. */
  close(): Promise<void>;
}

/** `reason`: one sentence for operators and callers; no secret. */
export type BackendHealth = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** A session with a backend. Its messages have the form of the revisions with sessions, whatever the backend speaks. */
export interface BackendSession {
  readonly initialized: InitializeResult;
  /**
   * Sends a request. The response has its id; messages that belong to it, such as progress and requests of the server, go to
   * the call before it.
   * @throws BackendError when the backend does not answer
   */
  request(message: RequestMessage, call: Call): Promise<Message>;
  /**
   * Sends a notification, or the response to a request that this session delivered.
   * @throws BackendError when the backend does not accept it, `not_pending` for a response that no request waits for
   */
  notify(message: Message): Promise<void>;
  /** Receives the messages that belong to no request. @returns what ends it */
  listen(receive: (message: Message) => void): () => void;
  /** Resolves when the session has ended at the backend, or was closed here; a client's next request opens another one. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** A request on its way. */
export interface Call {
  /** Aborts when the client has cancelled it or disappeared: the backend is told. */
  readonly signal: AbortSignal;
  readonly receive: (message: Message) => void;
}

/** Why a backend did not answer. */
export type BackendFailure =
  | 'unavailable'
  | 'timeout'
  | 'overloaded'
  | 'refused'
  | 'not_pending'
  | 'challenged';

/** A backend did not answer. The message is one sentence that callers see. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly failure: BackendFailure;
  /** Seconds after which another attempt may succeed. */
  readonly retryAfter: number;

  constructor(failure: BackendFailure, message: string, retryAfter = 5) {
    super(message);
    this.failure = failure;
    this.retryAfter = retryAfter;
  }
}
