/** Requests to a stateless backend (revision 2026-07-28): each contains revision, client and capabilities, and has its own response. */
import {
  createStandardHeaders,
  errorCodes,
  isMembers,
  isResponse,
  type Message,
  parseMessage,
  type RequestMessage,
  readBodyMessages,
  readBodyText,
  type TransportFetch,
  withMeta,
} from '@portcullis/http';
import { BackendError, type Call, type InitializeParams, toFailure } from '../backend.ts';
import { listHeaders } from '../clients/parameter-headers.ts';
import type { ExchangeTimeouts } from '../exchange/pending-requests.ts';
import { metaKeys, STATELESS } from '../revisions.ts';
import { failureOfResponse } from './transports.ts';

export interface StatelessOptions {
  readonly name: string;
  readonly url: URL;
  readonly fetch: TransportFetch;
  /** Bytes of one message. */
  readonly frame: number;
  readonly timeouts: ExchangeTimeouts;
}

export type StatelessRequests = ReturnType<typeof createStatelessRequests>;

/** @param closing ends all requests */
export function createStatelessRequests(
  { name, url, fetch, frame, timeouts }: StatelessOptions,
  client: InitializeParams,
  closing: AbortSignal,
) {
  // Over 60 lines: the four steps of one request share its headers and timeouts.
  const headers = createStandardHeaders();
  let level: unknown;

  return {
    send,
    post,
    /** Sets the log level that all further requests name. */
    setLogLevel(wanted: unknown): void {
      level = wanted;
    },
  };

  /** @throws BackendError */
  async function send(message: RequestMessage, call: Call): Promise<Message> {
    const response = await sendOnce(message, call);
    const isMismatch = isMembers(response.error) && response.error['code'] === errorCodes.headerMismatch;
    if (!isMismatch || message.method !== 'tools/call') return response;
    // Headers have to repeat some arguments, as the list of tools declares, on any of its pages.
    await listHeaders({ request: sendOnce });
    return sendOnce(message, call);
  }

  async function sendOnce(message: RequestMessage, call: Call): Promise<Message> {
    const response = await exchange(message, call);
    if (message.method === 'tools/list') headers.learn(response.result);
    return { ...response, id: message.id };
  }

  async function exchange(message: Message, call: Call): Promise<Message> {
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(), timeouts.next).unref();
    try {
      const response = await post(message, AbortSignal.any([call.signal, closing, idle.signal]));
      if (!response.ok) return readError(response, await readBodyText(response, frame));
      for await (const received of readBodyMessages(response, frame)) {
        timer.refresh();
        if (isResponse(received)) return received;
        if (received.method !== undefined && received.id === undefined) call.receive?.(received);
      }
      throw new Error('the response ended before it was complete');
    } catch (error) {
      if (idle.signal.aborted) throw new BackendError('timeout', `${name} did not answer in time.`);
      throw toFailure(error, name);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request whose response the caller reads. */
  function post(message: Message, signal: AbortSignal): Promise<Response> {
    const complete = withMeta(message, {
      [metaKeys.version]: STATELESS,
      [metaKeys.clientInfo]: client.clientInfo,
      [metaKeys.clientCapabilities]: client.capabilities,
      ...(level !== undefined && { [metaKeys.logLevel]: level }),
    });
    const own = {
      ...headers.of(complete),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    return fetch(url, { method: 'POST', headers: own, body: JSON.stringify(complete), signal });
  }

  function readError(response: Response, text: string): Message {
    const isAboutMessage = response.status === 400 || response.status === 404;
    const error = isAboutMessage ? parseMessage(text)?.error : undefined;
    if (isMembers(error)) return { jsonrpc: '2.0', error };
    throw failureOfResponse(name, response);
  }
}
