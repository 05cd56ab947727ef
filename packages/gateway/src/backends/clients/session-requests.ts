/** Serves the messages of one POST in a session: each request has its response, on one stream if there are several. */
import {
  errorCodes,
  errorResponse,
  isRequest,
  isResponse,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  toDouble,
} from '@portcullis/http';
import { ConnectionRequired } from '../../credentials/credential-source.ts';
import { RESUME_GRACE } from '../../limits.ts';
import type { MessageEdit } from '../../messages/message-edit.ts';
import type { GatewayRequest } from '../../servers/request.ts';
import { BackendError, orInNewSession } from '../backend.ts';
import { refuseBatchIn } from '../revisions.ts';
import type { ClientStream } from './events.ts';
import type { LiveSession } from './live-session.ts';
import { endWithError, openWhenLate, type Reply, textOf } from './reply.ts';

/** One POST of a client, and the stream that responds to it. */
export interface SessionPost {
  readonly request: GatewayRequest;
  readonly session: LiveSession;
  readonly reply: Reply;
  readonly stream: ClientStream;
  readonly edit: MessageEdit;
}

/**
 * The revision of a batch is that of its session, whatever its headers say; the responses to a batch are a stream.
 * @throws MessageError for a batch in a revision without them
 * @see MCP 2025-11-25, Streamable HTTP, protocol version header
 */
export async function servePost(
  post: SessionPost,
  messages: readonly Message[],
  isBatch: boolean,
): Promise<void> {
  const { session, reply } = post;
  const requests = messages.filter(isRequest);
  try {
    if (isBatch) refuseBatchIn((await session.connect()).initialized.protocolVersion, null);
    // Its response and its cancellation could not be told from those of the first one, which may have been opened meanwhile.
    const repeated = requests.find(({ id }) => session.requests.has(id));
    if (repeated !== undefined) {
      const text = 'Another request with this id is open in the session: use a new id.';
      return reply.end(errorResponse(repeated.id, errorCodes.invalidRequest, text), 400);
    }
    for (const message of messages) if (!isRequest(message)) await pass(post, message);
  } catch (error) {
    return endWithError(reply, null, error);
  }
  const [only] = requests;
  if (only === undefined) return reply.end(null, 202);
  session.responding.set(post.stream, { first: reply, current: reply });
  try {
    if (!isBatch) return await exchange(post, only, true);
    // Each request of a batch listens until its response.
    post.request.outgoing.setMaxListeners(0);
    reply.open();
    // One after another: the batch has one slot at the backend. Those that wait can be cancelled.
    let previous = Promise.resolve();
    for (const message of requests) previous = exchange(post, message, false, previous);
    await previous;
    currentReply(post).end(null);
  } finally {
    session.responding.delete(post.stream);
  }
}

/** The reply of a stream, on the connection on which it was resumed last. */
function currentReply({ session, stream, reply }: SessionPost): Reply {
  return session.responding.get(stream)?.current ?? reply;
}

/** Forwards a notification, or the response to a server request. */
async function pass({ session, request }: SessionPost, message: Message): Promise<void> {
  if (message.method === 'notifications/cancelled') {
    const id = toDouble(parameter(message, 'requestId'));
    return session.requests.get(id as MessageId)?.abort();
  }
  if (isResponse(message) || message.method !== 'notifications/initialized')
    await (await session.connect()).notify(message, request);
}

/** @param isLast whether its response ends the stream @param previous the request is sent after it */
async function exchange(
  post: SessionPost,
  message: RequestMessage,
  isLast: boolean,
  previous?: Promise<void>,
): Promise<void> {
  const { request, session, reply, edit } = post;
  const controller = new AbortController();
  const { signal } = controller;
  session.requests.set(message.id, controller);
  const current = (): Reply => currentReply(post);
  const stop = onDisappeared(request, reply, () => current() === reply && controller.abort());
  const stopWaiting = openWhenLate(request.incoming, current);
  const finish = (response: Message): void => {
    if (isLast) current().end(response);
    else current().send(response);
  };
  try {
    const receive = (received: Message): void => current().send(received);
    const { network, principal } = request;
    if (previous !== undefined) await previous;
    const response = await orInNewSession(async () => {
      // A session that was deleted meanwhile is not opened again.
      signal.throwIfAborted();
      return (await session.connect()).request(message, { signal, receive, network, principal });
    });
    finish(await edit.filter(response));
  } catch (failure) {
    const isEnded = signal.reason instanceof BackendError;
    const error = isEnded ? signal.reason : failure;
    // A cancelled request gets no response. @see MCP 2025-11-25, cancellation
    if (signal.aborted && !isEnded) {
      if (isLast) current().cancel();
    } else if (isLast && !(error instanceof ConnectionRequired && current().isStream()))
      endWithError(current(), message.id, error, message.method);
    else finish(failureOf(message, error));
  } finally {
    stopWaiting();
    stop();
    session.requests.delete(message.id);
  }
}

/** The response to one of several requests, or on a stream. */
function failureOf({ id, method }: RequestMessage, error: unknown): Message {
  if (error instanceof ConnectionRequired)
    return errorResponse(id, errorCodes.urlElicitationRequired, error.message, error.elicitations());
  return errorResponse(id, errorCodes.unavailable, textOf(error, method));
}

/** Calls back when the client has disappeared: immediately, or after the grace period for resuming an event stream. */
function onDisappeared({ outgoing }: GatewayRequest, reply: Reply, callback: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const listener = (): void => {
    if (outgoing.writableFinished) return;
    if (reply.isStream()) timer = setTimeout(callback, RESUME_GRACE).unref();
    else callback();
  };
  // It may have disappeared while the session was opened.
  if (outgoing.closed) listener();
  else outgoing.once('close', listener);
  return () => {
    clearTimeout(timer);
    outgoing.removeListener('close', listener);
  };
}
