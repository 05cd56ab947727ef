/** A session at a server that speaks Streamable HTTP: what every request carries of it, and a new one when the server has forgotten it. */
import type { Fetch } from '@portcullis/client';
import { parseJson } from '../json.ts';
import { acceptAnswer, emptyStream, Refusal, typeOf } from './answers.ts';
import { readEvents } from './event-stream.ts';
import { isRequest, type Message, type RequestMessage, readMessage, statelessVersion } from './json-rpc.ts';
import { createSessionRequests } from './session-requests.ts';

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
  const requests = createSessionRequests(url, fetch);
  let session: string | null = null;
  /** What began the session, to begin another when the server has forgotten it. */
  let beginning: RequestMessage | null = null;
  let renewing: Promise<void> | null = null;

  return {
    id: () => session,
    post,
    async openStream(lastId, signal) {
      const response = await requests.openStream(lastId, session, signal);
      if (response.ok && typeOf(response) === 'text/event-stream') return response;
      await response.body?.cancel();
      if (response.status >= 500 || response.status === 429) throw new Refusal(response.status, '');
      return null;
    },
    learn: requests.learn,
    async end() {
      const ending = session;
      session = null;
      if (ending !== null) await requests.end(ending);
    },
  };

  /** A session that the server has forgotten is begun anew, once, and the message sent again. */
  async function post(message: Message, signal: AbortSignal): Promise<Response> {
    const used = session;
    const response = await requests.post(message, session, signal);
    const forgotten = response.status === 404 && used !== null && statelessVersion(message) === null;
    if (!forgotten || message.method === 'initialize' || beginning === null) return take(response, message);
    await response.body?.cancel();
    if (session === used) {
      renewing ??= beginAnew(beginning, signal).finally(() => {
        renewing = null;
      });
      await renewing;
    }
    return take(await requests.post(message, session, signal), message);
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
    const response = await acceptAnswer(
      await requests.post({ ...first, id: 'again' }, session, signal),
      first,
    );
    session = response.headers.get('mcp-session-id');
    if (typeOf(response) === 'text/event-stream') {
      for await (const event of readEvents(response.body ?? emptyStream())) {
        if (readMessage(parseJson(event.text)) !== null) break;
      }
    } else await response.body?.cancel();
    const begun: Message = { jsonrpc: '2.0', method: 'notifications/initialized' };
    await (await requests.post(begun, session, signal)).body?.cancel();
    onRenewed();
  }
}

function isBeginning(message: Message): message is RequestMessage {
  return isRequest(message) && message.method === 'initialize';
}
