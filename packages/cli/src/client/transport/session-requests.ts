/** Builds the HTTP requests of a session, with the headers for its ID, revision and message. */
import type { Fetch } from '@portcullis/client';
import { createStandardHeaders, type Message, type RequestMessage, statelessVersion } from '@portcullis/http';
import { isObject } from '../../json.ts';

export interface SessionRequests {
  /** Posts a message, with the session ID unless the message is stateless. */
  post(message: Message, session: string | null, signal: AbortSignal): Promise<Response>;
  /** Opens the stream of messages from the server, or resumes it after event `lastId`. */
  openStream(lastId: string | null, session: string | null, signal: AbortSignal): Promise<Response>;
  /** Ends a session; errors are ignored. */
  end(session: string): Promise<void>;
  /** Records what later requests have to repeat from a response. */
  learn(message: RequestMessage, response: Message): void;
}

/** Milliseconds until ending a session times out. */
const END_TIMEOUT = 2000;

/** Creates the requests to a URL, before a revision is negotiated. */
export function createSessionRequests(url: string, fetch: Fetch): SessionRequests {
  const headers = createStandardHeaders();
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
      const signal = AbortSignal.timeout(END_TIMEOUT);
      const own = sessionHeaders(session);
      await fetch(url, { method: 'DELETE', headers: own, signal }).catch(() => undefined);
    },
    learn(message, response) {
      if (message.method === 'initialize') version = versionOf(response) ?? version;
      if (message.method === 'tools/list') headers.learn(response.result);
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
