/**
 * Limits HTTP pipelining: responses to requests sent ahead would pile up in memory for a client that reads none of
 * them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Responses that may be queued behind another on one connection. Hardly any client pipelines at all. */
const MAX_PIPELINED = 32;

/** Creates a predicate that is true for a request that exceeds the limit of its connection. @see RFC 9112 §9.3.2 */
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
