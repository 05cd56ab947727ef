/** Requests pending at a backend: own ids and progress tokens, timeouts, cancellation, and the session of each. */
import {
  type McpTransport,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  withMeta,
} from '@portcullis/http';
import { BackendError, type Call, toFailure, withNothingSent } from '../backend.ts';

/** One of the sessions that share an exchange. */
export interface ExchangeSession {
  readonly listeners: Set<(message: Message) => void>;
}

export interface PendingRequest {
  readonly session: ExchangeSession;
  readonly progressToken: unknown;
  readonly call: Call;
  readonly settle: (outcome: Message | Error) => void;
  /** Restarts the timeout; `null` stops it. */
  readonly wait: (milliseconds: number | null) => void;
}

export type PendingRequests = ReturnType<typeof createPendingRequests>;

export interface PendingRequestOptions {
  readonly name: string;
  readonly transport: McpTransport;
  /** Sends a notification, and ignores errors. */
  readonly post: (message: Message) => void;
  readonly onTimeout: () => void;
  readonly onSettled: () => void;
}

/** Milliseconds. */
export interface ExchangeTimeouts {
  /** Until the first message for a request. */
  readonly first: number;
  /** Between messages for a request. */
  readonly next: number;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the timer, the cancellation and the response of a request race to settle it
export function createPendingRequests(options: PendingRequestOptions) {
  const { name, transport } = options;
  const pending = new Map<MessageId, PendingRequest>();
  let failure: Error | null = null;
  let lastId = 0;

  return {
    get: (id: MessageId): PendingRequest | undefined => pending.get(id),
    /** From the oldest to the newest. */
    all: (): readonly PendingRequest[] => [...pending.values()],
    send,
    /** Rejects all pending and future requests. */
    fail(error: Error): void {
      refuse(error);
      for (const request of [...pending.values()]) request.settle(error);
    },
    refuse,
  };

  /** Rejects all future requests. */
  function refuse(error: Error): void {
    failure ??= error;
  }

  /** Sends a request, under an id of the exchange. @throws BackendError */
  async function send(
    session: ExchangeSession,
    message: RequestMessage,
    call: Call,
    timeout: number,
  ): Promise<Message> {
    if (failure !== null) throw withNothingSent(failure);
    if (call.signal.aborted) throw cancelled();
    lastId += 1;
    const id = lastId;
    const progressToken = parameter(message, '_meta', 'progressToken');
    const { promise, ...settlement } = track(id, message, call, timeout);
    pending.set(id, { session, progressToken, call, ...settlement });
    const tagged = progressToken === undefined ? message : withMeta(message, { progressToken: id });
    transport
      .send({ ...tagged, id }, call.signal)
      .catch((error) => settlement.settle(toFailure(error, name)));
    return { ...(await promise), id: message.id };
  }

  /** The end of a request: its response, an error, the timeout, or the cancellation by its client. */
  function track(id: MessageId, { method }: RequestMessage, { signal }: Call, timeout: number) {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    let timer: NodeJS.Timeout | undefined;
    const settle = (outcome: Message | Error): void => {
      if (!pending.delete(id)) return;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
      options.onSettled();
    };
    const end = (reason: string, error: BackendError): void => {
      // Initialization must not be cancelled. @see MCP, cancellation
      if (method !== 'initialize') cancel(id, reason);
      settle(error);
    };
    const abort = (): void => end('The client has cancelled the request.', cancelled());
    const expire = (limit: number): void => {
      const text = `${name} did not answer within ${limit / 1000} seconds.`;
      end('The request timed out.', new BackendError('timeout', text));
      options.onTimeout();
    };
    const wait = (limit: number | null): void => {
      clearTimeout(timer);
      if (limit !== null) timer = setTimeout(expire, limit, limit).unref();
    };
    signal.addEventListener('abort', abort, { once: true });
    wait(timeout);
    return { promise, settle, wait };
  }

  function cancel(requestId: MessageId, reason: string): void {
    const params = { requestId, reason };
    options.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  }
}

function cancelled(): BackendError {
  return new BackendError('unavailable', 'The request was cancelled.');
}

/** Delivers a message that belongs to no request. */
export function deliver(session: ExchangeSession, message: Message): void {
  for (const receive of session.listeners) receive(message);
}

/** What receives a message during a request: the request, otherwise its session; `null`: nothing does. */
export function receiverOf(
  session: ExchangeSession,
  during: PendingRequest | undefined,
): ((message: Message) => void) | null {
  if (during?.call.receive !== undefined && !during.call.signal.aborted) return during.call.receive;
  return session.listeners.size === 0 ? null : (message) => deliver(session, message);
}
