/** The open connections of a server: a set optimized for frequent changes, and a limit on HTTP pipelining. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionSet<T> {
  add(one: T): void;
  /** To be called once for each member. */
  remove(one: T): void;
  all(): readonly T[];
  size(): number;
}

/** The index of a member in its set; an object is a member of one set at most. A property: an entry and a function for each would cost open streams 130 bytes. */
const INDEX: unique symbol = Symbol('index');

interface Member {
  [INDEX]?: number;
}

/**
 * An array with indexes instead of a `Set`: a `Set` under constant change is rehashed from table to table, and V8
 * links each abandoned table to the next. Once one of them reaches the old generation, all later ones stay reachable,
 * with their members, until the old generation is collected.
 */
export function createConnectionSet<T extends object>(): ConnectionSet<T> {
  const members: (T & Member)[] = [];
  return {
    add(one: T & Member) {
      one[INDEX] = members.length;
      members.push(one);
    },
    remove(one: T & Member) {
      const last = members.pop();
      if (last === undefined || last === one) return;
      last[INDEX] = one[INDEX] as number;
      members[last[INDEX]] = last;
    },
    all: () => [...members],
    size: () => members.length,
  };
}

/** Milliseconds before a half-closed connection with a pending response is probed. */
const PATIENCE = 1000;

/** The newest response of a socket. A property: entries of a `WeakMap` that change with each request burden each collection. */
const CURRENT: unique symbol = Symbol('current response');

interface ProbedSocket extends Socket {
  [CURRENT]?: ServerResponse;
  /** The response that node:http writes to the connection: those of pipelined requests wait behind it. Omitted by its types. */
  readonly _httpMessage?: ServerResponse | null;
}

/**
 * Detects disconnected clients. A half-closed connection, whose client still expects its response, is indistinguishable from a
 * closed one until something is sent: a waiting client ignores the interim response `102`; for a closed connection the peer's
 * system sends a reset, which the next `102` detects. Then the handler can stop. A response that has begun and HTTP/1.0 allow no interim
 * response: if nothing is sent for a second, the client counts as disconnected, as with servers without half-closed connections.
 * @see RFC 9112 §9.6, RFC 9110 §15.2
 */
export function watchDisconnect({ socket }: IncomingMessage, outgoing: ServerResponse): void {
  const probed: ProbedSocket = socket;
  if (probed[CURRENT] === undefined) socket.on('end', waitForDisconnect);
  probed[CURRENT] = outgoing;
}

/** The listener for `end`. One for all sockets, without `once`: saves 300 bytes for each of thousands of open streams. */
export function waitForDisconnect(this: Socket): void {
  setTimeout(probe, PATIENCE, this, this.bytesWritten).unref();
}

function probe(socket: Socket, written: number): void {
  const { _httpMessage, [CURRENT]: newest } = socket as ProbedSocket;
  const outgoing = _httpMessage ?? newest;
  if (outgoing === undefined || outgoing.writableEnded || outgoing.destroyed) return;
  if (!outgoing.headersSent && outgoing.req.httpVersion !== '1.0') outgoing.writeProcessing();
  else if (socket.bytesWritten === written && socket.writableLength === 0) return void socket.destroy();
  setTimeout(probe, PATIENCE, socket, socket.bytesWritten).unref();
}

/** Maximum number of responses queued behind another on one connection. Few clients pipeline at all. */
const MAX_PIPELINED = 32;

/**
 * Creates a predicate that is true for a request that exceeds the limit of its connection. Without a limit, responses to
 * requests sent ahead would pile up in memory for a client that does not read them.
 * @see RFC 9112 §9.3.2
 */
export function createPipeliningLimit(): (incoming: IncomingMessage, outgoing: ServerResponse) => boolean {
  const queued = new WeakMap<Socket, number>();
  const add = (socket: Socket, change: number): number => {
    const count = (queued.get(socket) ?? 0) + change;
    queued.set(socket, count);
    return count;
  };
  return ({ socket }, outgoing) => {
    // The response at the head of the queue already owns the socket.
    if (outgoing.socket !== null) return false;
    outgoing.once('close', () => add(socket, -1));
    return add(socket, 1) > MAX_PIPELINED;
  };
}
