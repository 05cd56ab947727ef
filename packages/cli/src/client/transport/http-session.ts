/** A session of Streamable HTTP: sends its ID with every request, and starts a new session when the server has lost the old one. */
import type { Fetch } from '@portcullis/client';
import {
  isRequest,
  type Message,
  type RequestMessage,
  readEvents,
  readMessage,
  statelessVersion,
} from '@portcullis/http';
import { parseJson } from '../../json.ts';
import { acceptResponse, contentType, emptyStream, HttpResponseError } from './responses.ts';
import { createSessionRequests } from './session-requests.ts';

export interface HttpSession {
  /** Session ID; `null` while there is no session. */
  id(): string | null;
  /** Posts a message. @throws HttpResponseError unless the response is an MCP message */
  post(message: Message, signal: AbortSignal): Promise<Response>;
  /** Opens the stream of messages from the server, or resumes it after event `lastId`; `null` if the server offers none. */
  openStream(lastId: string | null, signal: AbortSignal): Promise<Response | null>;
  /** Records what later requests have to repeat from a response. */
  learn(message: RequestMessage, response: Message): void;
  /** Ends the session at the server. */
  end(): Promise<void>;
}

/** @param onRenewed called when a new session has replaced one that the server has lost */
export function createHttpSession(url: string, fetch: Fetch, onRenewed: () => void): HttpSession {
  const requests = createSessionRequests(url, fetch);
  let session: string | null = null;
  /** The request that started the session, to start another one. */
  let initializeRequest: RequestMessage | null = null;
  let renewing: Promise<void> | null = null;

  return {
    id: () => session,
    post,
    async openStream(lastId, signal) {
      const response = await requests.openStream(lastId, session, signal);
      if (response.ok && contentType(response) === 'text/event-stream') return response;
      await response.body?.cancel();
      if (response.status >= 500 || response.status === 429) throw new HttpResponseError(response.status, '');
      return null;
    },
    learn: requests.learn,
    async end() {
      const ending = session;
      session = null;
      if (ending !== null) await requests.end(ending);
    },
  };

  /** If the server has lost the session, starts a new one and sends the message again, once. */
  async function post(message: Message, signal: AbortSignal): Promise<Response> {
    const used = session;
    const response = await requests.post(message, session, signal);
    const lost = response.status === 404 && used !== null && statelessVersion(message) === null;
    if (!lost || message.method === 'initialize' || initializeRequest === null)
      return take(response, message);
    await response.body?.cancel();
    if (session === used) {
      renewing ??= restart(initializeRequest, signal).finally(() => {
        renewing = null;
      });
      await renewing;
    }
    return take(await requests.post(message, session, signal), message);
  }

  async function take(response: Response, message: Message): Promise<Response> {
    const accepted = await acceptResponse(response, message);
    if (isInitialize(message)) {
      initializeRequest = message;
      session = accepted.headers.get('mcp-session-id');
    }
    return accepted;
  }

  async function restart(first: RequestMessage, signal: AbortSignal): Promise<void> {
    session = null;
    const response = await acceptResponse(
      await requests.post({ ...first, id: 'again' }, session, signal),
      first,
    );
    session = response.headers.get('mcp-session-id');
    if (contentType(response) === 'text/event-stream') {
      for await (const event of readEvents(response.body ?? emptyStream())) {
        if (readMessage(parseJson(event.text)) !== null) break;
      }
    } else await response.body?.cancel();
    const initialized: Message = { jsonrpc: '2.0', method: 'notifications/initialized' };
    await (await requests.post(initialized, session, signal)).body?.cancel();
    onRenewed();
  }
}

function isInitialize(message: Message): message is RequestMessage {
  return isRequest(message) && message.method === 'initialize';
}
