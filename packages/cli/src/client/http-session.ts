/** A session at a server that speaks Streamable HTTP: what every request carries of it, and a new one when the server has forgotten it. */
import type { Fetch } from '@portcullis/client';
import { isObject, parseJson } from '../json.ts';
import { acceptAnswer, emptyStream, Refusal, typeOf } from './answers.ts';
import { readEvents } from './event-stream.ts';
import { isRequest, type Message, type RequestMessage, readMessage, statelessVersion } from './json-rpc.ts';
import { createMessageHeaders } from './message-headers.ts';

export interface HttpSession {
  /** Its identifier; `null` while there is none. */
  id(): string | null;
  /** Posts a message. @throws Refusal for an answer that is no message */
  post(message: Message, signal: AbortSignal): Promise<Response>;
  /** A stream of what the server says by itself, or the rest of one from `lastId` on; `null`: the server offers none. */
  openStream(lastId: string | null, signal: AbortSignal): Promise<Response | null>;
  /** Learns from the answer to a message what later requests carry. */
  learn(message: RequestMessage, answer: Message): void;
  /** Tells the server that it has ended. */
  end(): Promise<void>;
}

/** @param onRenewed called when a session has taken the place of one that was forgotten */
export function createHttpSession(url: string, fetch: Fetch, onRenewed: () => void): HttpSession {
  const headers = createMessageHeaders();
  let session: string | null = null;
  let version: string | null = null;
  /** What began the session, to begin another when the server has forgotten it. */
  let beginning: RequestMessage | null = null;
  let renewing: Promise<void> | null = null;

  return {
    id: () => session,
    post,
    async openStream(lastId, signal) {
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
    },
    learn(message, answer) {
      if (message.method === 'initialize') version = versionOf(answer) ?? version;
      if (message.method === 'tools/list') headers.learn(answer.result);
    },
    async end() {
      const ending = session;
      if (ending === null) return;
      session = null;
      const signal = AbortSignal.timeout(2000);
      await fetch(url, { method: 'DELETE', headers: sessionHeaders(ending), signal }).catch(() => undefined);
    },
  };

  /** A session that the server has forgotten is begun anew, once, and the message sent again. */
  async function post(message: Message, signal: AbortSignal): Promise<Response> {
    const used = session;
    const response = await postOnce(message, signal);
    const forgotten = response.status === 404 && used !== null && statelessVersion(message) === null;
    if (!forgotten || message.method === 'initialize' || beginning === null) return take(response, message);
    await response.body?.cancel();
    if (session === used) {
      renewing ??= beginAnew(beginning, signal).finally(() => {
        renewing = null;
      });
      await renewing;
    }
    return take(await postOnce(message, signal), message);
  }

  async function take(response: Response, message: Message): Promise<Response> {
    const accepted = await acceptAnswer(response, message);
    if (isBeginning(message)) {
      beginning = message;
      session = accepted.headers.get('mcp-session-id');
    }
    return accepted;
  }

  async function beginAnew(first: RequestMessage, signal: AbortSignal): Promise<void> {
    session = null;
    const response = await acceptAnswer(await postOnce({ ...first, id: 'again' }, signal), first);
    session = response.headers.get('mcp-session-id');
    if (typeOf(response) === 'text/event-stream') {
      for await (const event of readEvents(response.body ?? emptyStream())) {
        if (readMessage(parseJson(event.text)) !== null) break;
      }
    } else await response.body?.cancel();
    const begun: Message = { jsonrpc: '2.0', method: 'notifications/initialized' };
    await (await postOnce(begun, signal)).body?.cancel();
    onRenewed();
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

  function sessionHeaders(id: string | null): Record<string, string> {
    return {
      ...(id !== null && { 'mcp-session-id': id }),
      ...(version !== null && { 'mcp-protocol-version': version }),
    };
  }
}

function isBeginning(message: Message): message is RequestMessage {
  return isRequest(message) && message.method === 'initialize';
}

function versionOf({ result }: Message): string | null {
  const version = isObject(result) ? result['protocolVersion'] : undefined;
  return typeof version === 'string' && /^[\w.-]{1,40}$/.test(version) ? version : null;
}
