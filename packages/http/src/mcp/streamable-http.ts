/** Streamable HTTP, the client side: a POST for each message, a stream for messages of the server; with a session or stateless. */
import { setTimeout } from 'node:timers/promises';
import { beforeAbort } from '@portcullis/protocol';
import {
  errorCodes,
  isMembers,
  isRequest,
  isResponseTo,
  type Message,
  parseMessage,
  type RequestMessage,
  statelessVersion,
} from './json-rpc.ts';
import type { StandardHeaders } from './standard-headers.ts';
import {
  type HttpTransportOptions,
  IncompleteResponse,
  type McpTransport,
  mediaType,
  readBodyMessages,
  readBodyText,
  type StreamPosition,
  type TransportFetch,
} from './transport.ts';

/** The transport options of Streamable HTTP. */
export interface StreamableHttpOptions extends HttpTransportOptions {
  /** Headers of stateless messages, which have no session; without it, all messages belong to the session. */
  readonly statelessHeaders?: StandardHeaders;
  /** Sends the requests for the server's own stream, which no message waits for; `fetch` by default. */
  readonly fetchInBackground?: TransportFetch;
  /** Receives errors of the server's own stream, which is then reopened; after `false` only with the next message that is sent. */
  readonly onStreamError?: (error: unknown) => boolean | undefined;
}

/** Maximum attempts in a row to resume a response that bring no event. A server may end its stream as often as it likes. */
const MAX_RESUMPTIONS = 5;
/** Milliseconds before a broken stream is reopened; doubled with each attempt. */
const FIRST_DELAY = 1000;
const LAST_DELAY = 30_000;
/** Timeout for ending a session at the server, in milliseconds. */
const END_TIMEOUT = 2000;
/** Timeout for the body of a response that may say that the session is unknown, in milliseconds. */
const REASON_TIMEOUT = 2000;

/**
 * Creates a transport for one session, which starts with the first `initialize`; sends nothing on its own.
 * @see MCP 2025-11-25, Streamable HTTP
 */
export function createStreamableHttp(options: StreamableHttpOptions): McpTransport {
  const { limit, receiver, readError, onStreamError, fetch, fetchInBackground = fetch } = options;
  const requests = createRequests(options);
  const { openStream } = requests;
  const closing = new AbortController();
  const serverMessages: StreamPosition = { lastId: null, retry: null };
  let isLost = false;
  let isStopped = false;

  return {
    async send(message, signal) {
      const either = AbortSignal.any([signal, closing.signal]);
      const response = await requests.post(message, either);
      if (!response.ok) return reject(response, message);
      if (message.method === 'initialize') requests.begin(response);
      if (isStopped) void followServerMessages();
      if (isRequest(message)) return followResponse(response, message, either);
      await response.body?.cancel();
      if (message.method === 'notifications/initialized') void followServerMessages();
    },
    async close() {
      closing.abort();
      if (!isLost) await requests.end();
    },
  };

  /** Ends a session that the server has lost. @see MCP Streamable HTTP, session management: 404 */
  async function reject(response: Response, message: Message): Promise<void> {
    const endsSession = requests.isInSession(message) && (await isSessionUnknown(response, limit));
    const request = isRequest(message) && !endsSession ? message : null;
    const outcome = await readError(response, request, endsSession);
    if (!(outcome instanceof Error)) return receiver.accept(outcome, message.id ?? null);
    if (endsSession) {
      isLost = true;
      receiver.fail(outcome);
    }
    throw outcome;
  }

  /** Resumes a broken stream if the server sent event IDs. */
  async function followResponse(
    first: Response,
    request: RequestMessage,
    signal: AbortSignal,
  ): Promise<void> {
    const position: StreamPosition = { lastId: null, retry: null };
    let response: Response | null = first;
    let cause: unknown;
    let fruitless = 0;
    for (let resumptions = 0; response !== null; resumptions += 1) {
      const { lastId } = position;
      try {
        if (await readResponse(response, request, position)) return;
      } catch (error) {
        if (signal.aborted) throw error;
        cause = error;
      }
      fruitless = position.lastId === lastId ? fruitless + 1 : 0;
      if (position.lastId === null || fruitless === MAX_RESUMPTIONS) break;
      // Not in a busy loop, as long as the server likes.
      const least = resumptions < MAX_RESUMPTIONS ? 0 : FIRST_DELAY;
      await sleep(Math.max(position.retry ?? FIRST_DELAY, least), signal);
      response = await openStream(fetch, position.lastId, signal);
    }
    throw new IncompleteResponse(first, 'the response ended before it was complete', { cause });
  }

  /** @returns whether the response was among the messages */
  async function readResponse(
    response: Response,
    request: RequestMessage,
    position: StreamPosition,
  ): Promise<boolean> {
    for await (const message of readBodyMessages(response, limit, position)) {
      const isFinal = isResponseTo(message, request.id);
      if (isFinal) requests.learn(request, message);
      receiver.accept(message, request.id);
      if (isFinal) return true;
    }
    return false;
  }

  async function followServerMessages(): Promise<void> {
    const { signal } = closing;
    const position = serverMessages;
    isStopped = false;
    for (let delay = FIRST_DELAY; !signal.aborted && !isLost; delay = Math.min(delay * 2, LAST_DELAY)) {
      try {
        const response = await openStream(fetchInBackground, position.lastId, signal);
        if (response === null) return;
        delay = FIRST_DELAY;
        for await (const message of readBodyMessages(response, limit, position))
          receiver.accept(message, null);
      } catch (error) {
        isStopped = !signal.aborted && onStreamError?.(error) === false;
        if (isStopped) return;
      }
      // A server that ends its streams at once and sends `retry: 0` would be called in a busy loop.
      await sleep(Math.max(position.retry ?? delay, FIRST_DELAY), signal).catch(() => undefined);
    }
  }
}

/**
 * Whether a server no longer has the session of a request: some, such as the reference server, answer 400, and say so in words only. A
 * tool may have a parameter `session_id`.
 */
async function isSessionUnknown(response: Response, limit: number): Promise<boolean> {
  if (response.status !== 400) return response.status === 404;
  // Without a timeout, a notification would wait for a body that does not end.
  const text = await readBodyText(response.clone(), limit, AbortSignal.timeout(REASON_TIMEOUT)).catch(
    () => '',
  );
  const { error } = parseMessage(text) ?? {};
  if (isMembers(error) && error['code'] === errorCodes.invalidParams) return false;
  return /\bsession(?!_)|not initialized/i.test(text);
}

/** The HTTP requests of a session, with the headers for its ID, revision and message. */
function createRequests({ url, fetch, readError, statelessHeaders }: StreamableHttpOptions) {
  let session: string | null = null;
  let version: string | null = null;
  return { post, openStream, begin, learn, isInSession, end };

  function post(message: Message, signal: AbortSignal): Promise<Response> {
    const headers = {
      ...(belongsToSession(message) && sessionHeaders()),
      ...statelessHeaders?.of(message),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal });
  }

  function begin({ headers }: Response): void {
    session = headers.get('mcp-session-id');
  }

  function isInSession(message: Message): boolean {
    return session !== null && belongsToSession(message);
  }

  function belongsToSession(message: Message): boolean {
    const isStateless = statelessHeaders !== undefined && statelessVersion(message) !== null;
    return !isStateless && message.method !== 'initialize';
  }

  function sessionHeaders(): Record<string, string> {
    return {
      ...(session !== null && { 'mcp-session-id': session }),
      ...(version !== null && { 'mcp-protocol-version': version }),
    };
  }

  /** Records the revision and tool parameters that later requests repeat. */
  function learn({ method }: RequestMessage, { result }: Message): void {
    if (method === 'tools/list') statelessHeaders?.learn(result);
    const negotiated = method === 'initialize' && isMembers(result) ? result['protocolVersion'] : null;
    if (typeof negotiated === 'string' && /^[\w.-]{1,40}$/.test(negotiated)) version = negotiated;
  }

  /** @returns `null` if the server offers no such stream */
  async function openStream(
    send: TransportFetch,
    lastId: string | null,
    signal: AbortSignal,
  ): Promise<Response | null> {
    const headers = {
      ...sessionHeaders(),
      accept: 'text/event-stream',
      ...(lastId !== null && { 'last-event-id': lastId }),
    };
    const response = await send(url, { method: 'GET', headers, signal });
    if (response.ok && mediaType(response) === 'text/event-stream') return response;
    if (response.status >= 500 || response.status === 429) throw await readError(response, null);
    await response.body?.cancel();
    return null;
  }

  async function end(): Promise<void> {
    if (session === null) return;
    const signal = AbortSignal.timeout(END_TIMEOUT);
    const ending = fetch(url, { method: 'DELETE', headers: sessionHeaders(), signal });
    await ending.then(({ body }) => body?.cancel()).catch(() => undefined);
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return beforeAbort(setTimeout(milliseconds, undefined, { ref: false }), signal);
}
