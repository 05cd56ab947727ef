/** The client side of MCP transports, which exchange the messages of one session with a server. */
import { readBytes } from '@portcullis/protocol';
import { readEvents } from './event-stream.ts';
import { type Message, type MessageId, parseMessage, type RequestMessage } from './json-rpc.ts';
import { parseExactly } from './parse-exactly.ts';

/** The connection of one session to an MCP server. */
export interface McpTransport {
  /**
   * Sends a message. A transport that receives the response to a request on its own connection resolves after it.
   * @throws the error from `readError`, IncompleteResponse, and errors of `fetch`
   */
  send(message: Message, signal: AbortSignal): Promise<void>;
  /** Ends the session at the server, and all pending requests. */
  close(): Promise<void>;
}

/** Receives the messages of a transport. */
export interface TransportReceiver {
  /** @param relatedTo the request on whose connection the message arrived; `null` if there is one connection for all */
  accept(message: Message, relatedTo: MessageId | null): void;
  /** The session has ended: send nothing more. Responses that arrive on connections of their own still do. */
  fail(error: Error): void;
}

/** A request of a transport. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** An authorized `fetch`, which follows no redirects to other origins. */
export type TransportFetch = (url: URL, request: TransportRequest) => Promise<Response>;

/** Dependencies of the transports over HTTP. */
export interface HttpTransportOptions {
  readonly url: URL;
  readonly fetch: TransportFetch;
  /** Maximum bytes of one message. */
  readonly limit: number;
  readonly receiver: TransportReceiver;
  /**
   * Reads or cancels the body of an HTTP error response. @returns the error to throw, or the response to the request in JSON-RPC
   * @param request `null` if the response cannot be about a request
   * @param endsSession whether the server no longer has the session of the message
   */
  readonly readError: (
    response: Response,
    request: RequestMessage | null,
    endsSession?: boolean,
  ) => Promise<Error | Message>;
}

/** The response is missing or incomplete. `cause` is the error of a broken stream. */
export class IncompleteResponse extends Error {
  override readonly name = 'IncompleteResponse';
  readonly response: Response;

  constructor(response: Response, message: string, options?: ErrorOptions) {
    super(message, options);
    this.response = response;
  }
}

/** A body is longer than the limit of its reader. */
export class ResponseTooLong extends Error {
  override readonly name = 'ResponseTooLong';
}

/** The position at which a stream can be resumed. */
export interface StreamPosition {
  lastId: string | null;
  /** Milliseconds to wait before resuming. */
  retry: number | null;
}

/** The media type of a response in lower case, without parameters; empty without one. */
export function mediaType({ headers }: Response): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * The messages of a response: JSON or an event stream.
 * @param limit maximum bytes of one message
 * @throws ResponseTooLong
 */
export async function* readBodyMessages(
  response: Response,
  limit: number,
  position?: StreamPosition,
): AsyncGenerator<Message> {
  if (response.body === null) return;
  if (mediaType(response) !== 'text/event-stream') {
    for (const text of splitBatch(await readBodyText(response, limit))) {
      const message = parseMessage(text);
      if (message !== null) yield message;
    }
    return;
  }
  for await (const { type, text, id, retry } of readEvents(response.body, limit)) {
    if (position !== undefined) {
      position.lastId = id ?? position.lastId;
      position.retry = retry ?? position.retry;
    }
    const message = type === 'message' ? parseMessage(text) : null;
    if (message !== null) yield message;
  }
}

/** The text of a response, up to the limit: a compressed one may be endless. @throws ResponseTooLong, the signal's reason */
export async function readBodyText({ body }: Response, limit: number, signal?: AbortSignal): Promise<string> {
  const tooLong = () => new ResponseTooLong(`The response is longer than ${limit} bytes.`);
  const bytes = await readBytes(body, { limit, tooLong, ...(signal && { signal }) });
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function splitBatch(text: string): readonly string[] {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    const messages = parseExactly(text);
    return Array.isArray(messages) ? messages.map((message) => JSON.stringify(message)) : [];
  } catch {
    return [];
  }
}
