/** Writes a complete response to a node:http connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpResponse } from '../http-response.ts';

/**
 * Closes the connection if the client reads nothing of the response for `timeout` milliseconds.
 * @throws TypeError if a header contains invalid characters; then nothing has been written. @see
 * RFC 9110 §5.5
 */
export function writeResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, cookies, body }: HttpResponse,
  timeout: number,
): void {
  const fields: string[] = [];
  for (const name of Object.keys(headers)) fields.push(name, headers[name] ?? '');
  for (const cookie of cookies) fields.push('set-cookie', cookie);
  const length = lengthOf(body, status, incoming.method);
  if (length !== null) fields.push('content-length', String(length));
  outgoing.writeHead(status, fields);
  if (!incoming.complete) outgoing.once('finish', () => drain(incoming));
  if (incoming.method === 'HEAD') outgoing.end();
  else outgoing.end(body, encodingOf(body, length));
  // Nearly every response is in the kernel's buffer by now. Node's own timeouts apply to requests, not to reading
  // responses.
  if (outgoing.socket === null || outgoing.socket.writableLength > 0) outgoing.setTimeout(timeout);
}

/**
 * The length of the body; `null` if Content-Length is not sent. A server MUST NOT send Content-Length with 1xx or
 * 204; in a response to HEAD it is that of the corresponding GET.
 * @see RFC 9110 §8.6
 */
function lengthOf(body: HttpResponse['body'], status: number, method: string | undefined): number | null {
  if (body !== null) return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  return status === 204 || status === 304 || method === 'HEAD' ? null : 0;
}

/** Text with as many bytes as characters is ASCII, which Node writes without conversion as `latin1`. */
function encodingOf(body: HttpResponse['body'], length: number | null): BufferEncoding {
  return typeof body === 'string' && body.length === length ? 'latin1' : 'utf8';
}

/** Milliseconds to drain an unread request body, so that the client can read the response. */
const DRAIN_TIMEOUT = 500;

/** Discards the rest of a request body, and closes the connection at a time limit. */
function drain(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return;
  const timer = setTimeout(() => incoming.socket.destroySoon(), DRAIN_TIMEOUT);
  incoming.once('close', () => clearTimeout(timer));
  incoming.once('error', () => {});
  incoming.resume();
}
