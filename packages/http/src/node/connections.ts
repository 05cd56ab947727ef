/** The open connections of a server: a set that is cheap to change constantly, and a limit on HTTP pipelining. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionSet<T> {
  /** Adds a member. The returned function removes it and must be called once. */
  add(one: T): () => void;
  all(): readonly T[];
  size(): number;
}

interface Entry<T> {
  readonly one: T;
  index: number;
}

/**
 * An array with indexes instead of a `Set`: a `Set` that changes all the time is rehashed from table to table, and V8
 * links each abandoned table to the next. Once one of them reaches the old generation, all later ones are kept alive,
 * with their members, until the old generation is collected.
 */
export function createConnectionSet<T>(): ConnectionSet<T> {
  const entries: Entry<T>[] = [];
  return {
    add(one) {
      const entry = { one, index: entries.length };
      entries.push(entry);
      return () => {
        const last = entries.pop();
        if (last === undefined || last === entry) return;
        last.index = entry.index;
        entries[entry.index] = last;
      };
    },
    all: () => entries.map(({ one }) => one),
    size: () => entries.length,
  };
}

/** Milliseconds that a client which has closed its side waits for its response before it is asked whether it is still there. */
const PATIENCE = 1000;

/**
 * Notices clients that are gone. One that closes its side after the request still gets its response, and looks the same as one that
 * has closed the whole connection, until something is sent: the first ignores the interim response `102`; the system of the second resets the connection, which is
 * noticed when the next `102` is sent. Then the handler can stop.
 * @see RFC 9112 §9.6, RFC 9110 §15.2
 */
export function createDisconnectProbe(): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const current = new WeakMap<Socket, ServerResponse>();
  const probe = (socket: Socket) => {
    const outgoing = current.get(socket);
    if (outgoing === undefined || outgoing.headersSent || outgoing.destroyed) return;
    outgoing.writeProcessing();
    setTimeout(probe, PATIENCE, socket).unref();
  };
  // One listener for all sockets, without `once`: it costs each of thousands of open streams 300 bytes less.
  function wait(this: Socket): void {
    setTimeout(probe, PATIENCE, this).unref();
  }
  return ({ socket, httpVersion }, outgoing) => {
    if (httpVersion === '1.0') return;
    if (!current.has(socket)) socket.on('end', wait);
    current.set(socket, outgoing);
  };
}

/** Responses that may be queued behind another on one connection. Hardly any client pipelines at all. */
const MAX_PIPELINED = 32;

/**
 * Creates a predicate that is true for a request that exceeds the limit of its connection. Without a limit, responses to
 * requests sent ahead would pile up in memory for a client that reads none of them.
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
    // A response that is next in line already owns the socket.
    if (outgoing.socket !== null) return false;
    outgoing.once('close', () => add(socket, -1));
    return add(socket, 1) > MAX_PIPELINED;
  };
}
