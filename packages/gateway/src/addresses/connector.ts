/**
 * Connections to HTTP backends, with `100 Continue` removed: a server may send it unasked, and undici would end the connection.
 * @see RFC 9110 §15.2
 */
import type { Socket } from 'node:net';
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
      if (result[0] === null) removeContinue(result[1]);
      callback(...result);
    });
  };
}

/** Filters what undici reads from a connection between the head of a request and the head of its response. */
function removeContinue(socket: Socket): void {
  const write = socket.write.bind(socket) as (...given: readonly unknown[]) => boolean;
  const read = socket.read.bind(socket);
  let isAwaited = false;
  let pending: Buffer = EMPTY;
  socket.write = (chunk: unknown, ...rest: readonly unknown[]) => {
    if (typeof chunk === 'string' && chunk.includes(REQUEST)) isAwaited = true;
    return write(chunk, ...rest);
  };
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size);
    if (!isAwaited || chunk === null) return chunk;
    pending = afterContinue(pending.length === 0 ? chunk : Buffer.concat([pending, chunk]));
    if (mayBeContinue(pending)) return null;
    const response = pending;
    isAwaited = false;
    pending = EMPTY;
    return response;
  };
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
