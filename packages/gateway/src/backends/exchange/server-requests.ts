/** Requests of a backend to its client (elicitation, sampling, roots): each is delivered to one client, under an id of the gateway. */
import { randomUUID } from 'node:crypto';
import {
  errorCodes,
  errorResponse,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  toDouble,
} from '@portcullis/http';
import { MAX_SERVER_REQUESTS } from '../../limits.ts';
import { BackendError } from '../backend.ts';
import {
  type ExchangeSession,
  type ExchangeTimeouts,
  type PendingRequest,
  type PendingRequests,
  receiverOf,
} from './pending-requests.ts';

export type ServerRequests = ReturnType<typeof createServerRequests>;

interface ServerRequest {
  readonly id: MessageId;
  readonly session: ExchangeSession;
  /** The client's request during which it was sent. */
  readonly during: PendingRequest | undefined;
}

export interface ServerRequestOptions {
  readonly pending: PendingRequests;
  readonly sessions: ReadonlySet<ExchangeSession>;
  readonly isShared: boolean;
  readonly post: (message: Message) => void;
  readonly timeouts: ExchangeTimeouts;
}

export function createServerRequests(options: ServerRequestOptions) {
  const { pending, sessions, isShared, post, timeouts } = options;
  const delivered = new Map<string, ServerRequest>();

  return {
    /** Delivers a request of the backend. @param relatedTo the client's request that it belongs to, if the transport identifies it */
    accept(message: RequestMessage, relatedTo: MessageId | null) {
      if (message.method === 'ping') return post({ jsonrpc: '2.0', id: message.id, result: {} });
      // A shared backend cannot address one client: no client capabilities were declared to it.
      if (isShared || (delivered.size >= MAX_SERVER_REQUESTS && !refuseAbandoned()))
        return refuse(message.id);
      const during = relatedTo === null ? newestRequest() : pending.get(relatedTo);
      const session = during?.session ?? [...sessions].at(-1);
      const receive = session === undefined ? null : receiverOf(session, during);
      if (session === undefined || receive === null) return refuse(message.id);
      const id = randomUUID();
      delivered.set(id, { id: message.id, session, during });
      // No timeout while the user decides.
      during?.wait(null);
      receive({ ...message, id });
    },
    /** The client's response, with the id that the backend expects. @throws BackendError `not_pending` */
    resolve(session: ExchangeSession, response: Message): Message {
      const id = String(response.id);
      const request = delivered.get(id);
      if (request === undefined || request.session !== session) throw notPending();
      delivered.delete(id);
      request.during?.wait(timeouts.first);
      return { ...response, id: request.id };
    },
    /** The backend cancels one of its requests. */
    cancel(cancellation: Message): void {
      const requestId = toDouble(parameter(cancellation, 'requestId'));
      const found = [...delivered].find(([, { id }]) => id === requestId);
      if (found === undefined) return;
      const [id, { session, during }] = found;
      delivered.delete(id);
      const params = { ...(cancellation.params as object), requestId: id };
      receiverOf(session, during)?.({ ...cancellation, params });
    },
    /** Rejects the requests to a disconnected client. */
    release(session: ExchangeSession): void {
      for (const [key, request] of delivered) {
        if (request.session !== session) continue;
        delivered.delete(key);
        refuse(request.id);
      }
    },
  };

  /** Refuses the oldest one whose call has ended, such as by cancellation: few clients respond to it. @returns whether there was one */
  function refuseAbandoned(): boolean {
    const open = new Set(pending.all());
    const found = [...delivered].find(([, { during }]) => during !== undefined && !open.has(during));
    if (found === undefined) return false;
    const [key, { id }] = found;
    delivered.delete(key);
    refuse(id);
    return true;
  }

  function newestRequest(): PendingRequest | undefined {
    const requests = pending.all().filter(({ session }) => sessions.has(session));
    return requests.findLast(({ call }) => call.receive !== undefined) ?? requests.at(-1);
  }

  function refuse(id: MessageId): void {
    const text = 'There is no client here that can answer this request.';
    post(errorResponse(id, errorCodes.methodNotFound, text));
  }
}

export function notPending(): BackendError {
  const text = 'No request of the server with this id waits for a response here.';
  return new BackendError('not_pending', text);
}
