/** The requests of Streamable HTTP as they go out: what each carries of its session, its revision and its message. */
import type { Fetch } from '@portcullis/client';
import { isObject } from '../json.ts';
import { type Message, type RequestMessage, statelessVersion } from './json-rpc.ts';
import { createMessageHeaders } from './message-headers.ts';

export interface SessionRequests {
  /** Posts a message, within a session where there is one and the message needs it. */
  post(message: Message, session: string | null, signal: AbortSignal): Promise<Response>;
  /** Asks for what the server says by itself, or for the rest of a stream from `lastId` on. */
  openStream(lastId: string | null, session: string | null, signal: AbortSignal): Promise<Response>;
  /** Ends a session; nobody minds when the server does not take it. */
  end(session: string): Promise<void>;
  /** Learns from the answer to a message what later requests carry. */
  learn(message: RequestMessage, answer: Message): void;
}

/** Milliseconds that a goodbye may take. */
const GOODBYE = 2000;

/** Makes the requests to a URL; no revision is known yet. */
export function createSessionRequests(url: string, fetch: Fetch): SessionRequests {
  const headers = createMessageHeaders();
  let version: string | null = null;

  return {
    post(message, session, signal) {
      const isFirst = message.method === 'initialize';
      const own = {
        ...(statelessVersion(message) === null && !isFirst && sessionHeaders(session)),
        ...headers.of(message),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      };
      return fetch(url, { method: 'POST', headers: own, body: JSON.stringify(message), signal });
    },
    openStream(lastId, session, signal) {
      const rest = lastId !== null && { 'last-event-id': lastId };
      const own = { ...sessionHeaders(session), accept: 'text/event-stream', ...rest };
      return fetch(url, { headers: own, signal });
    },
    async end(session) {
      const signal = AbortSignal.timeout(GOODBYE);
      const own = sessionHeaders(session);
      await fetch(url, { method: 'DELETE', headers: own, signal }).catch(() => undefined);
    },
    learn(message, answer) {
      if (message.method === 'initialize') version = versionOf(answer) ?? version;
      if (message.method === 'tools/list') headers.learn(answer.result);
    },
  };

  function sessionHeaders(session: string | null): Record<string, string> {
    return {
      ...(session !== null && { 'mcp-session-id': session }),
      ...(version !== null && { 'mcp-protocol-version': version }),
    };
  }
}

function versionOf({ result }: Message): string | null {
  const version = isObject(result) ? result['protocolVersion'] : undefined;
  return typeof version === 'string' && /^[\w.-]{1,40}$/.test(version) ? version : null;
}
