/** Requests that are sent ahead of the answers before: few, or their answers would wait in memory for whoever reads none. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers that may wait behind another on one connection. Hardly any client sends ahead at all. */
const MOST_WAITING = 32;

/** Creates what tells whether a request is one too many of its connection. @see RFC 9112 §9.3.2 */
export function createPipeliningLimit(): (incoming: IncomingMessage, outgoing: ServerResponse) => boolean {
  const waiting = new WeakMap<Socket, number>();
  const add = (socket: Socket, change: number): number => {
    const count = (waiting.get(socket) ?? 0) + change;
    waiting.set(socket, count);
    return count;
  };
  return ({ socket }, outgoing) => {
    // What is to be answered at once has the connection already.
    if (outgoing.socket !== null) return false;
    outgoing.once('close', () => add(socket, -1));
    return add(socket, 1) > MOST_WAITING;
  };
}
