/** Reads HTTP responses of an MCP server that are not event streams: JSON-RPC messages, and errors with their reason. */

import { ClientError } from '@portcullis/client';
import { isRequest, type Message, readMessage } from '@portcullis/http';
import { parseChallenges, readLenientScopes, type Scopes } from '@portcullis/protocol';
import { isObject, parseJson } from '../../json.ts';

/** The server responded with an HTTP error, or with something that is not a JSON-RPC message. */
export class HttpResponseError extends Error {
  override readonly name: string = 'Refusal';
  readonly status: number;
  /** Scopes that the token lacks according to the server; empty for other errors. */
  readonly missing: Scopes;

  constructor(status: number, reason: string, missing: Scopes = []) {
    super(`The server answered with status ${status}${reason === '' ? '' : `: ${reason}`}`);
    this.status = status;
    this.missing = missing;
  }
}

/** Reason given for a response with another content type. */
export const NOT_A_MESSAGE = 'a web page instead of an MCP message';

/** Maximum length of a response that is not an event stream. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Reads the messages of a response. @throws HttpResponseError for a web page, which is not a response of an MCP server */
export async function readMessages(response: Response): Promise<readonly Message[]> {
  const text = await readBoundedText(response);
  const body = parseJson(text);
  if (body === undefined && text !== '') {
    throw new HttpResponseError(response.status, NOT_A_MESSAGE);
  }
  return (Array.isArray(body) ? body : [body]).map(readMessage).filter((read) => read !== null);
}

/**
 * Accepts a successful response, or an HTTP error whose body is the JSON-RPC response to the request.
 * @throws HttpResponseError for any other HTTP error
 */
export async function acceptResponse(response: Response, message: Message): Promise<Response> {
  if (response.ok) {
    if (!isRequest(message)) await response.body?.cancel();
    return response;
  }
  const text = contentType(response) === 'application/json' ? await readBoundedText(response) : '';
  if (text === '') await response.body?.cancel().catch(() => undefined);
  const json = parseJson(text);
  const reply = readMessage(json);
  if (reply !== null && 'error' in reply && isRequest(message) && (reply.id ?? message.id) === message.id) {
    return Response.json({ ...reply, id: message.id });
  }
  throw readResponseError(response, json);
}

/** Describes an HTTP error response. @param json its body, if any */
export function readResponseError(response: Response, json: unknown): HttpResponseError {
  return new HttpResponseError(response.status, readReason(json), readMissingScopes(response));
}

/** @see RFC 6750 §3.1 */
function readMissingScopes({ headers }: Response): Scopes {
  const challenge = parseChallenges(headers.get('www-authenticate') ?? '').find(
    ({ parameters }) => parameters.get('error') === 'insufficient_scope',
  );
  return readLenientScopes(challenge?.parameters.get('scope') ?? '');
}

export function contentType(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** The reason in an OAuth error response or a JSON-RPC error. */
function readReason(json: unknown): string {
  if (!isObject(json)) return '';
  const { error, error_description: description } = json;
  const parts = [isObject(error) ? error['message'] : error, description];
  return parts
    .filter((part) => typeof part === 'string')
    .join(', ')
    .slice(0, 300);
}

/**
 * The text of a response, as far as the limit: a compressed one may be endless.
 * @param limit in characters
 * @throws ClientError `response_too_large`
 */
export async function readBoundedText(response: Response, limit: number = MAX_CHARACTERS): Promise<string> {
  const pieces: string[] = [];
  let size = 0;
  for await (const piece of (response.body ?? emptyStream()).pipeThrough(new TextDecoderStream())) {
    pieces.push(piece);
    size += piece.length;
    if (size > limit)
      throw new ClientError('response_too_large', `The response is longer than ${limit} characters.`);
  }
  return pieces.join('');
}
