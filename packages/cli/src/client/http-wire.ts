/** Streamable HTTP, both of its wires: with sessions (up to 2025-11-25) and stateless (from 2026-07-28), as messages in and messages out. */
import type { Fetch } from '@portcullis/client';
import { isObject, parseJson } from '../json.ts';
import { readEvents } from './event-stream.ts';
import {
  failureResponse,
  type Id,
  isRequest,
  isResponse,
  type Message,
  parameter,
  type RequestMessage,
  readMessage,
  statelessVersion,
} from './json-rpc.ts';
import { createMessageHeaders } from './message-headers.ts';

export interface HttpWireOptions {
  readonly url: string;
  /** Carries every request, with a token. */
  readonly fetch: Fetch;
  /** Every message that the server sends, in the order in which it came. */
  readonly receive: (message: Message) => void;
  /** Hears what went wrong where no message can say it. */
  readonly complain?: (error: unknown) => void;
  /** Waits; milliseconds. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
}

export interface HttpWire {
  /**
   * Sends a message. Resolves when the server has taken it, and for a request when its answer has been received.
   * A request is answered in any case: by an error of ours when the server did not.
   */
  send(message: Message): Promise<void>;
  /** Ends the session at the server, and everything that is under way. */
  close(): Promise<void>;
}

/** An answer that is no message, with what it said. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  readonly status: number;

  constructor(status: number, said: string) {
    super(`The server answered with status ${status}${said === '' ? '' : `: ${said}`}`);
    this.status = status;
  }
}

const NO_PROTOCOL = 'a page, and not a message of the protocol';

/** Most characters of an answer that is no stream. */
const LONGEST = 64 * 1024 * 1024;

/** Milliseconds before a stream that broke is opened again; each time longer. */
const FIRST_DELAY = 1000;
const LAST_DELAY = 30_000;

/** Most tries to get the rest of an answer whose stream broke. */
const MOST_RESUMPTIONS = 5;

export function createHttpWire(options: HttpWireOptions): HttpWire {
  const { url, fetch, receive, complain = () => undefined } = options;
  const sleep =
    options.sleep ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds).unref()));
  const headers = createMessageHeaders();
  const closing = new AbortController();
  /** Requests under way, so that a cancellation can end their streams. */
  const underWay = new Map<Id, { readonly stateless: boolean; readonly controller: AbortController }>();
  let session: string | null = null;
  let version: string | null = null;
  /** What began the session, to begin another when the server has forgotten it. */
  let beginning: RequestMessage | null = null;
  let renewing: Promise<void> | null = null;

  return {
    async send(message) {
      if (isRequest(message)) return request(message);
      if (cancelStream(message)) return;
      await post(message, closing.signal);
      if (message.method === 'notifications/initialized') void listen();
    },
    async close() {
      const ending = session;
      closing.abort();
      if (ending === null) return;
      session = null;
      const signal = AbortSignal.timeout(2000);
      await fetch(url, { method: 'DELETE', headers: sessionHeaders(ending), signal }).catch(() => undefined);
    },
  };

  /** On the stateless wire a request is cancelled by ending its stream; there is nothing to post. */
  function cancelStream(message: Message): boolean {
    if (message.method !== 'notifications/cancelled') return false;
    const id = parameter(message, 'requestId');
    const request = typeof id === 'string' || typeof id === 'number' ? underWay.get(id) : undefined;
    if (request === undefined || !request.stateless) return false;
    request.controller.abort();
    return true;
  }

  async function request(message: RequestMessage): Promise<void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, closing.signal]);
    underWay.set(message.id, { stateless: statelessVersion(message) !== null, controller });
    try {
      if (!(await exchange(message, signal)) && !signal.aborted)
        receive(failureResponse(message.id, 'The connection ended before the answer was complete.'));
    } catch (error) {
      if (signal.aborted) return;
      complain(error);
      receive(
        failureResponse(
          message.id,
          error instanceof Error ? error.message : 'The server could not be asked.',
        ),
      );
    } finally {
      underWay.delete(message.id);
    }
  }

  /** Tells whether the answer came. */
  async function exchange(message: RequestMessage, signal: AbortSignal): Promise<boolean> {
    const response = await post(message, signal);
    if (message.method === 'initialize') {
      beginning = message;
      session = response.headers.get('mcp-session-id');
    }
    const understand = (answer: Message): void => {
      if (message.method === 'initialize') version = versionOf(answer) ?? version;
      if (message.method === 'tools/list') headers.learn(answer.result);
      receive(answer);
    };
    if (typeOf(response) === 'text/event-stream')
      return readAnswers(response, message.id, signal, understand);
    const text = await readText(response);
    const body = parseJson(text);
    // Whoever answers with a page speaks something else.
    if (body === undefined && text !== '') throw new Refusal(response.status, NO_PROTOCOL);
    const messages = (Array.isArray(body) ? body : [body]).map(readMessage).filter((read) => read !== null);
    for (const read of messages) understand(read);
    return messages.some((read) => answers(read, message.id));
  }

  /** A stream that breaks is taken up where it broke, if the server said how. */
  async function readAnswers(
    response: Response,
    id: Id,
    signal: AbortSignal,
    understand: (message: Message) => void,
  ): Promise<boolean> {
    let stream = response;
    let lastId: string | null = null;
    let delay = FIRST_DELAY;
    for (let resumptions = 0; ; resumptions += 1) {
      try {
        for await (const event of readEvents(stream.body ?? emptyStream())) {
          lastId = event.id ?? lastId;
          delay = event.retry ?? delay;
          const message = readMessage(parseJson(event.text));
          if (message === null) continue;
          understand(message);
          if (answers(message, id)) return true;
        }
      } catch (error) {
        if (signal.aborted) throw error;
      }
      if (signal.aborted || lastId === null || resumptions === MOST_RESUMPTIONS) return false;
      await sleep(delay);
      const resumed = await openStream(lastId, signal);
      if (resumed === null) return false;
      stream = resumed;
    }
  }

  /** What the server has to say by itself. A server that has nothing says so, and is not asked again. */
  async function listen(): Promise<void> {
    const { signal } = closing;
    let lastId: string | null = null;
    let delay = FIRST_DELAY;
    while (!signal.aborted) {
      const mine = session;
      try {
        const stream = await openStream(lastId, signal);
        if (stream === null) return;
        delay = FIRST_DELAY;
        for await (const event of readEvents(stream.body ?? emptyStream())) {
          lastId = event.id ?? lastId;
          delay = event.retry ?? delay;
          const message = readMessage(parseJson(event.text));
          if (message !== null) receive(message);
        }
      } catch (error) {
        if (signal.aborted) return;
        complain(error);
      }
      await sleep(delay);
      delay = Math.min(delay * 1.5, LAST_DELAY);
      // A session that began meanwhile listens by itself.
      if (session !== mine) return;
    }
  }

  /** `null`: the server offers no stream. */
  async function openStream(lastId: string | null, signal: AbortSignal): Promise<Response | null> {
    const response = await fetch(url, {
      headers: {
        ...sessionHeaders(session),
        accept: 'text/event-stream',
        ...(lastId !== null && { 'last-event-id': lastId }),
      },
      signal,
    });
    if (response.ok && typeOf(response) === 'text/event-stream') return response;
    await response.body?.cancel();
    if (response.status >= 500 || response.status === 429) throw new Refusal(response.status, '');
    return null;
  }

  /** A session that the server has forgotten is begun anew, once, and the message sent again. */
  async function post(message: Message, signal: AbortSignal): Promise<Response> {
    const used = session;
    const response = await postOnce(message, signal);
    const forgotten = response.status === 404 && used !== null && statelessVersion(message) === null;
    if (!forgotten || message.method === 'initialize' || beginning === null) return accept(response, message);
    await response.body?.cancel();
    if (session === used) {
      renewing ??= beginAnew(beginning, signal).finally(() => {
        renewing = null;
      });
      await renewing;
    }
    return accept(await postOnce(message, signal), message);
  }

  async function beginAnew(first: RequestMessage, signal: AbortSignal): Promise<void> {
    session = null;
    const response = await accept(await postOnce({ ...first, id: 'again' }, signal), first);
    session = response.headers.get('mcp-session-id');
    if (typeOf(response) === 'text/event-stream') {
      for await (const event of readEvents(response.body ?? emptyStream())) {
        if (readMessage(parseJson(event.text)) !== null) break;
      }
    } else await response.body?.cancel();
    const begun: Message = { jsonrpc: '2.0', method: 'notifications/initialized' };
    await (await postOnce(begun, signal)).body?.cancel();
    void listen();
  }

  function postOnce(message: Message, signal: AbortSignal): Promise<Response> {
    const isFirst = message.method === 'initialize';
    return fetch(url, {
      method: 'POST',
      headers: {
        ...(statelessVersion(message) === null && !isFirst && sessionHeaders(session)),
        ...headers.of(message),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
      signal,
    });
  }

  /** A refusal that is itself the answer is passed on; any other becomes an error. */
  async function accept(response: Response, message: Message): Promise<Response> {
    if (response.ok) {
      if (!isRequest(message)) await response.body?.cancel();
      return response;
    }
    const text = typeOf(response) === 'application/json' ? await readText(response) : '';
    if (text === '') await response.body?.cancel().catch(() => undefined);
    const json = parseJson(text);
    const said = readMessage(json);
    if (said !== null && 'error' in said && isRequest(message) && (said.id ?? message.id) === message.id) {
      return Response.json({ ...said, id: message.id });
    }
    throw new Refusal(response.status, reasonIn(json));
  }

  function sessionHeaders(id: string | null): Record<string, string> {
    return {
      ...(id !== null && { 'mcp-session-id': id }),
      ...(version !== null && { 'mcp-protocol-version': version }),
    };
  }
}

function answers(message: Message, id: Id): boolean {
  return isResponse(message) && message.id === id;
}

function versionOf({ result }: Message): string | null {
  const version = isObject(result) ? result['protocolVersion'] : undefined;
  return typeof version === 'string' && /^[\w.-]{1,40}$/.test(version) ? version : null;
}

/** What OAuth and problem documents call their sentence. */
function reasonIn(json: unknown): string {
  if (!isObject(json)) return '';
  const { error, error_description: description } = json;
  const parts = [isObject(error) ? error['message'] : error, description];
  return parts
    .filter((part) => typeof part === 'string')
    .join(', ')
    .slice(0, 300);
}

function typeOf(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

async function readText(response: Response): Promise<string> {
  const pieces: string[] = [];
  let size = 0;
  for await (const piece of (response.body ?? emptyStream()).pipeThrough(new TextDecoderStream())) {
    pieces.push(piece);
    size += piece.length;
    if (size > LONGEST) throw new Error('The answer has no end.');
  }
  return pieces.join('');
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
