/** Responses that stay open for hours: what node:http holds for further requests of their connections is freed. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What the types of node:http omit. */
interface ServedSocket extends Socket {
  readonly server?: Server;
  parser?: { unconsume?(): void; remove(): void; close(): void } | null;
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
 * Frees the HTTP parser of a connection: 10 kB, as much as everything else of an open event stream. The connection is closed after
 * this response: further requests on it are discarded, and a client that sends more than a few is disconnected. To be called when the
 * request has arrived, before the head of the response is written.
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
    let discarded = 0;
    socket.on('data', ({ length }: Buffer) => {
      discarded += length;
      if (discarded > MAX_DISCARDED) socket.destroy();
    });
  });
}
