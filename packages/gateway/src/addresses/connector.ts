/**
 * Connections to HTTP backends, with `100 Continue` removed: a server may send it unasked, and undici would end the connection.
 * @see RFC 9110 §15.2
 */
import { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { MAX_RESPONSE_HEADER } from '../limits.ts';

const INTERIM = /^HTTP\/1\.[01] 100[ \r]/;
const START = 'HTTP/1.1 100 '.length;
/** The first digit of the status. */
const STATUS = 'HTTP/1.1 '.length;
const ONE = 0x31;
const END = '\r\n\r\n';
/** Ends the first line of each request that undici writes. */
const REQUEST = ' HTTP/1.1\r\n';
const EMPTY = Buffer.alloc(0);

export function withoutContinue(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...result) => {
      if (result[0] === null) {
        releaseAttempt(result[1]);
        removeContinue(result[1]);
      }
      callback(...result);
    });
  };
}

/** Removes the error listener of undici's connector, which retains its timer and options: undici adds another in the callback. */
function releaseAttempt(socket: Socket): void {
  const attempts = socket.listeners('error') as (() => void)[];
  // Added first: removing the last listener of an event turns the table of all events into a dictionary.
  socket.on('error', ignore);
  for (const listener of attempts) socket.off('error', listener);
}

const ignore = (): void => undefined;

/** The beginning of the response that is awaited, as far as it has arrived; `null`: none is awaited. */
const PENDING: unique symbol = Symbol('pending response');

interface FilteredSocket extends Socket {
  [PENDING]: Buffer | null;
}

/**
 * Filters what undici reads from a connection between the head of a request and the head of its response. Its functions are the same
 * for all connections: thousands wait in open streams.
 */
function removeContinue(socket: Socket): void {
  Object.assign(socket, { [PENDING]: null, write: writeRequest, read: readResponse });
}

function writeRequest(this: FilteredSocket, ...given: Parameters<Socket['write']>): boolean {
  const [chunk] = given;
  if (typeof chunk === 'string' && chunk.includes(REQUEST)) this[PENDING] = EMPTY;
  return Socket.prototype.write.apply(this, given);
}

function readResponse(this: FilteredSocket, size?: number): Buffer | null {
  const chunk: Buffer | null = Socket.prototype.read.call(this, size);
  const before = this[PENDING];
  if (before === null || chunk === null) return chunk;
  const pending = afterContinue(before.length === 0 ? chunk : Buffer.concat([before, chunk]));
  const isPending = mayBeContinue(pending);
  this[PENDING] = isPending ? pending : null;
  return isPending ? null : pending;
}

/** What follows the complete `100` responses at the beginning. */
function afterContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (isContinue(rest)) {
    const end = rest.indexOf(END);
    if (end < 0) break;
    rest = rest.subarray(end + END.length);
  }
  return rest;
}

/** Whether more bytes decide. */
function mayBeContinue(bytes: Buffer): boolean {
  return bytes.length < START || (isContinue(bytes) && bytes.length < MAX_RESPONSE_HEADER);
}

function isContinue(bytes: Buffer): boolean {
  // Of most responses this digit decides.
  return bytes[STATUS] === ONE && INTERIM.test(bytes.toString('latin1', 0, START));
}
