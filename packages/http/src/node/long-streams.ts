/** Responses that stay open for hours: what node:http holds for further requests of their connections is freed. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { waitForDisconnect } from './connections.ts';

/** Whether an event stream that responds to a request stays open until one side ends it. */
export function isLasting({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' || headers['mcp-method'] === 'subscriptions/listen';
}

/** Bytes that were discarded. */
const DISCARDED: unique symbol = Symbol('discarded');

/** What the types of node:http omit. */
interface ServedSocket extends Socket {
  readonly server?: Server;
  parser?: { unconsume?(): void; remove(): void; close(): void } | null;
  [DISCARDED]?: number;
}

/** Bytes that a client may send after its request, as for a pipelined request: they are discarded. */
const MAX_DISCARDED = 64 * 1024;

/** Servers that close connections without a parser themselves: `closeAllConnections` does not find them. */
const closesReleased = new WeakSet<Server>();

export function allowParserRelease<T extends Server>(server: T): T {
  closesReleased.add(server);
  return server;
}

/**
 * Frees the HTTP parser of a connection, with its listeners and the raw headers: 11 kB, as much as everything else of an open event
 * stream. The connection is closed after this response: further requests on it are discarded, and a client that sends more than a
 * few is disconnected. To be called when the request has arrived, before the head of the response is written.
 * @see RFC 9112 §9.6
 */
export function releaseParser(outgoing: ServerResponse): void {
  const socket: ServedSocket = outgoing.req.socket;
  if (socket.server === undefined || !closesReleased.has(socket.server) || !outgoing.req.complete) return;
  outgoing.shouldKeepAlive = false;
  // Not while the parser calls: node:http waits as well.
  setImmediate(() => {
    const { parser } = socket;
    // Bun's sockets have a parser of another kind.
    if (parser?.unconsume === undefined) return;
    socket.parser = null;
    parser.unconsume();
    parser.remove();
    parser.close();
    // node:http still refers to it: it must not retain its callbacks.
    for (const name of Object.keys(parser)) Object.assign(parser, { [name]: null });
    replaceListeners(socket, 'data', discard);
    replaceListeners(socket, 'end', waitForDisconnect);
    // `headers` were read from them before the request was handled.
    outgoing.req.rawHeaders = NO_FIELDS;
  });
}

const NO_FIELDS: string[] = [];

/** Removes those of node:http, which feed the parser, and that of `net`, which does nothing for half-open connections. */
function replaceListeners(socket: Socket, event: 'data' | 'end', listener: (chunk: Buffer) => void): void {
  const replaced = socket.listeners(event) as (typeof listener)[];
  // Added first: removing the last listener of an event turns the table of all events into a dictionary of 800 bytes.
  socket.on(event, listener);
  for (const one of replaced) socket.off(event, one);
}

function discard(this: ServedSocket, { length }: Buffer): void {
  this[DISCARDED] = (this[DISCARDED] ?? 0) + length;
  if (this[DISCARDED] > MAX_DISCARDED) this.destroy();
}
