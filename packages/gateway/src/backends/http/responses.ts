/** Reads the messages of an HTTP backend's responses, bounded in size. */
import { type Message, parseMessage, readEvents } from '@portcullis/http';
import { readBytes } from '@portcullis/protocol';
import { BackendError, type BackendFailure } from '../backend.ts';

/** Where a stream can be resumed. */
export interface StreamPosition {
  lastId: string | null;
  /** Milliseconds to wait before. */
  retry: number | null;
}

export function mediaType({ headers }: Response): string {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** The messages of a response, of JSON or of an event stream. @throws BackendError for longer ones */
export async function* readBodyMessages(
  response: Response,
  limit: number,
  position?: StreamPosition,
): AsyncGenerator<Message> {
  if (response.body === null) return;
  if (mediaType(response) !== 'text/event-stream') {
    const text = await readText(response, limit);
    for (const one of splitBatch(text)) {
      const message = parseMessage(one);
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

/** @throws BackendError */
export async function readText({ body }: Response, limit: number): Promise<string> {
  const tooLong = () =>
    new BackendError('unavailable', 'The server sent a message that is longer than the limit.');
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await readBytes(body, { limit, tooLong }));
}

/** Why a response is no message. */
export function failureOfResponse(name: string, { status, headers }: Response): BackendError {
  const failure: BackendFailure = status === 401 || status === 403 ? 'challenged' : 'unavailable';
  const seconds = Number(headers.get('retry-after') ?? 5);
  const isRedirect = status >= 300 && status < 400;
  const reason = isRedirect ? `a redirect (${status}), which is not followed` : `HTTP status ${status}`;
  return new BackendError(
    failure,
    `${name} answered with ${reason}.`,
    Number.isFinite(seconds) ? seconds : 5,
    status,
  );
}

function splitBatch(text: string): readonly string[] {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    const messages: unknown = JSON.parse(text);
    return Array.isArray(messages) ? messages.map((message) => JSON.stringify(message)) : [];
  } catch {
    return [];
  }
}
