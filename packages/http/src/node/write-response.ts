/** Writes an answer onto a connection of node:http, all at once. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpResponse } from '../http-response.ts';

/**
 * Whoever takes nothing of an answer for `patience` milliseconds loses the connection, and what waits on it.
 * @throws TypeError when a field has characters that none may have: nothing has been written then. @see RFC 9110 §5.5
 */
export function writeResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, cookies, body }: HttpResponse,
  patience: number,
): void {
  const fields: string[] = [];
  for (const name of Object.keys(headers)) fields.push(name, headers[name] ?? '');
  for (const cookie of cookies) fields.push('set-cookie', cookie);
  const length = lengthOf(body, status, incoming.method);
  if (length !== null) fields.push('content-length', String(length));
  outgoing.writeHead(status, fields);
  if (!incoming.complete) outgoing.once('finish', () => drain(incoming));
  if (incoming.method === 'HEAD') outgoing.end();
  else outgoing.end(body, codingOf(body, length));
  // The system has taken nearly every answer by now. Node's own timeouts are for those who send, not for those who take.
  if (outgoing.socket === null || outgoing.socket.writableLength > 0) outgoing.setTimeout(patience);
}

/**
 * Bytes of the body; `null` when nothing is to be said of it.
 * A server MUST NOT send Content-Length with 1xx or 204; to HEAD only what it would be to GET.
 * @see RFC 9110 §8.6
 */
function lengthOf(body: HttpResponse['body'], status: number, method: string | undefined): number | null {
  if (body !== null) return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  return status === 204 || status === 304 || method === 'HEAD' ? null : 0;
}

/** Text that has as many bytes as characters is ASCII: Node writes it as it lies in memory when it is told so. */
function codingOf(body: HttpResponse['body'], length: number | null): BufferEncoding {
  return typeof body === 'string' && body.length === length ? 'latin1' : 'utf8';
}

/** Milliseconds for what is left of a body that nobody reads, so that its sender comes to read the answer. */
const LEFTOVERS = 500;

/** Lets the rest of a body pass by, and ends the connection when it takes too long. */
function drain(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return;
  const timer = setTimeout(() => incoming.socket.destroySoon(), LEFTOVERS);
  incoming.once('close', () => clearTimeout(timer));
  incoming.once('error', () => {});
  incoming.resume();
}
