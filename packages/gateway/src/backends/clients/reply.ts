/** The response to a client: JSON for one message, an event stream for more. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorCodes, errorResponse, type Message, type MessageId } from '@portcullis/http';
import { isLasting, releaseParser } from '@portcullis/http/node';
import { OAuthError } from '@portcullis/protocol';
import { KEEP_ALIVE_INTERVAL, LATE_RESPONSE, MAX_UNREAD_RESPONSE } from '../../limits.ts';
import { GatewayError } from '../../messages/gateway-error.ts';
import { UserActionRequired } from '../../messages/user-action.ts';
import { BackendError } from '../backend.ts';

export interface Reply {
  /** Sends a message before the last one: the response becomes an event stream. */
  send(message: Message): void;
  /** Sends the last message. @param status of a response that is JSON */
  end(message: Message | null, status?: number, headers?: Readonly<Record<string, string>>): void;
  /** Whether it is an event stream. */
  isStream(): boolean;
  /** Opens the event stream before there is a message. */
  open(): void;
  /** Ends an event stream whose last message will not come. */
  cancel(): void;
}

/** A reply without the messages before the last one that are not wanted. */
export function filterReply(reply: Reply, isWanted: (message: Message) => boolean): Reply {
  return { ...reply, send: (message) => isWanted(message) && reply.send(message) };
}

/** Assigns an event its id. */
interface EventNames {
  of(message: Message | null): string;
  /** Whether a stream begins with an event without data, so that its client can resume it before there is a message. */
  readonly isPrimed: boolean;
}

const open = new Set<ServerResponse>();
let timer: NodeJS.Timeout | undefined;

/** What was sent in a response. */
interface Sent {
  /** Of its messages. */
  bytes: number;
  /** It contains an error in place of what the backend did not answer. */
  hasFailed: boolean;
  /** The client has cancelled its request, or has gone. */
  isCancelled: boolean;
}

const sent = new WeakMap<ServerResponse, Sent>();

export function sentIn(outgoing: ServerResponse): Sent {
  const known = sent.get(outgoing) ?? { bytes: 0, hasFailed: false, isCancelled: false };
  sent.set(outgoing, known);
  return known;
}

/** Changes a message for its client. */
type Seal = (message: Message) => unknown;

/** @param seal seals the identifiers in a message */
export function createReply(
  outgoing: ServerResponse,
  names: EventNames | null = null,
  seal: Seal = (message) => message,
): Reply {
  // Over 60 lines: one response, JSON until a second message makes it a stream.
  let isStream = false;

  return {
    send: write,
    end(message, status = 200, further = {}) {
      if (Object(message?.error).code === errorCodes.unavailable) sentIn(outgoing).hasFailed = true;
      if (outgoing.writableEnded || outgoing.destroyed) {
        // Retained for a client that resumes.
        if (message !== null && isStream) names?.of(message);
        return;
      }
      if (isStream) {
        if (message !== null) write(message);
        outgoing.end();
        return;
      }
      const common = { ...further, 'cache-control': 'no-store' };
      if (message === null) return void outgoing.writeHead(status, common).end();
      const body = JSON.stringify(seal(message));
      const own = {
        'content-type': 'application/json',
        'content-length': String(count(body)),
      };
      outgoing.writeHead(status, { ...common, ...own }).end(body);
    },
    isStream: () => isStream,
    open: openStream,
    cancel() {
      sentIn(outgoing).isCancelled = true;
      // Without an id, the client does not resume it.
      openStream(false);
      if (!outgoing.writableEnded && !outgoing.destroyed) outgoing.end();
    },
  };

  function count(text: string): number {
    const length = Buffer.byteLength(text);
    sentIn(outgoing).bytes += length;
    return length;
  }

  function openStream(isPrimed = names?.isPrimed === true): void {
    if (isStream || outgoing.destroyed) return;
    isStream = true;
    if (isLasting(outgoing.req)) releaseParser(outgoing);
    outgoing.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    outgoing.flushHeaders();
    keepAlive(outgoing);
    if (isPrimed && names !== null) writeEvent(`id: ${names.of(null)}\ndata: \n\n`);
  }

  function write(message: Message): void {
    openStream();
    const id = names === null ? '' : `id: ${names.of(message)}\n`;
    if (!outgoing.writable) return;
    writeEvent(`${id}event: message\ndata: ${JSON.stringify(seal(message))}\n\n`);
  }

  function writeEvent(event: string): void {
    count(event);
    outgoing.write(event);
    if (outgoing.writableLength > MAX_UNREAD_RESPONSE) outgoing.destroy();
  }
}

/**
 * Opens the event stream of a request whose response takes long: its comments keep proxies from closing the connection.
 * @returns stops waiting
 */
export function openWhenLate(incoming: IncomingMessage, reply: () => Reply): () => void {
  if (incoming.headers.accept?.includes('text/event-stream') !== true) return () => undefined;
  const timer = setTimeout(() => reply().open(), LATE_RESPONSE).unref();
  return () => clearTimeout(timer);
}

/** What a client is told whose call may have been executed. @see RFC 9110 §9.2.2 */
export const MAY_HAVE_RUN = 'The call may have been executed: check that before you send it again.';

function mayHaveRun(error: unknown, method: string | null): boolean {
  const isUnknown =
    error instanceof BackendError && (error.failure === 'lost' || error.failure === 'timeout');
  return isUnknown && method === 'tools/call';
}

/** Responds to a request that failed at the backend. @param method as for `textOf` */
export function endWithError(
  reply: Reply,
  id: MessageId | null,
  error: unknown,
  method: string | null = null,
): void {
  const text = textOf(error, method);
  if (reply.isStream()) return void reply.end(errorResponse(id, errorCodes.unavailable, text));
  if (!(error instanceof BackendError)) throw error;
  if (error.failure === 'not_pending')
    return void reply.end(errorResponse(id, errorCodes.invalidRequest, text), 400);
  const message = errorResponse(id, errorCodes.unavailable, text);
  if (error.retryAfter === null || mayHaveRun(error, method)) reply.end(message, 502);
  else reply.end(message, 503, { 'retry-after': String(error.retryAfter) });
}

/** What the client reads; nothing of an internal error. @param method of the request that failed; `null`: it was no request */
export function textOf(error: unknown, method: string | null): string {
  if (error instanceof OAuthError) return error.description;
  const isForClients =
    error instanceof BackendError || error instanceof GatewayError || error instanceof UserActionRequired;
  if (!isForClients) return 'Something went wrong here. Try again later.';
  return mayHaveRun(error, method) ? `${error.message} ${MAY_HAVE_RUN}` : error.message;
}

function keepAlive(outgoing: ServerResponse): void {
  open.add(outgoing);
  outgoing.once('close', () => {
    open.delete(outgoing);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
  timer ??= setInterval(() => {
    for (const stream of open) if (stream.writableLength === 0) stream.write(': \n\n');
  }, KEEP_ALIVE_INTERVAL).unref();
}
