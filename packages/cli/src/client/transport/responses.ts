/** Reads HTTP responses of an MCP server that are not event streams: JSON-RPC messages, and errors with their reason. */

import { ClientError } from '@portcullis/client';
import {
  type Message,
  mediaType,
  type RequestMessage,
  ResponseTooLong,
  readBodyText,
  readMessage,
} from '@portcullis/http';
import { parseChallenges, readLenientScopes, type Scopes } from '@portcullis/protocol';
import { isObject, parseJson } from '../../json.ts';

/** The server responded with an HTTP error, or with something that is not a JSON-RPC message. */
export class HttpResponseError extends Error {
  override readonly name: string = 'HttpResponseError';
  readonly status: number;
  /** Scopes that the token lacks according to the server; empty for other errors. */
  readonly missing: Scopes;

  constructor(status: number, reason: string, missing: Scopes = []) {
    super(`The server answered with status ${status}${reason === '' ? '' : `: ${reason}`}`);
    this.status = status;
    this.missing = missing;
  }
}

/** The error reason for a response with another content type. */
export const NOT_A_MESSAGE = 'a web page instead of an MCP message';

/** Content types of MCP messages. */
export const MESSAGE_TYPES: readonly string[] = ['application/json', 'text/event-stream'];

/** Maximum bytes of one message. Results of tools may contain images. */
export const MAX_RESPONSE: number = 64 * 1024 * 1024;

/** The error of an HTTP error response, unless its body is the JSON-RPC response to the request. */
export async function readError(
  response: Response,
  request: RequestMessage | null,
): Promise<HttpResponseError | Message> {
  const isJson = mediaType(response) === 'application/json';
  const json = parseJson(isJson ? await readBoundedText(response) : '');
  if (!isJson) await response.body?.cancel().catch(() => undefined);
  const reply = readMessage(json);
  const isResponse = reply !== null && 'error' in reply;
  return request !== null && isResponse && (reply.id ?? request.id) === request.id
    ? { ...reply, id: request.id }
    : readResponseError(response, json);
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

/** @param limit in bytes @throws ClientError `response_too_large` */
export async function readBoundedText(response: Response, limit: number = MAX_RESPONSE): Promise<string> {
  try {
    return await readBodyText(response, limit);
  } catch (error) {
    if (error instanceof ResponseTooLong) throw new ClientError('response_too_large', error.message);
    throw error;
  }
}

/**
 * A response whose body fails after `MAX_RESPONSE` bytes, for readers without a limit.
 * @param fail receives the ClientError `response_too_large`
 */
export function limitLength(response: Response, fail: (error: ClientError) => void): Response {
  if (response.body === null) return response;
  let size = 0;
  const limited = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size <= MAX_RESPONSE) return controller.enqueue(chunk);
      const message = `The response is longer than ${MAX_RESPONSE} bytes.`;
      const error = new ClientError('response_too_large', message);
      fail(error);
      throw error;
    },
  });
  return new Response(response.body.pipeThrough(limited), response);
}
