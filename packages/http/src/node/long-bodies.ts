/** Request bodies exempt from the request timeout: their handler enforces its own limit. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Sockets with an exempt body. */
const exempt = new WeakSet<object>();

/** Exempts a request body from the timeout: the caller must abort a stalled body. */
export function allowLongBody({ socket }: IncomingMessage, outgoing: ServerResponse): void {
  exempt.add(socket);
  outgoing.once('close', () => exempt.delete(socket));
}

/**
 * Node reports a request timeout once, as `clientError`, and closes the connection unless that event has a listener; a
 * listener would have to handle all client errors.
 */
export function keepLongBodies<T extends Server>(server: T): T {
  const { emit } = server;
  return Object.assign(server, {
    emit(...event: readonly [name: string, ...details: unknown[]]): boolean {
      const [name, error, socket] = event;
      const isExempt = name === 'clientError' && isTimeout(error) && exempt.has(Object(socket));
      return isExempt || Reflect.apply(emit, server, event);
    },
  });
}

function isTimeout(error: unknown): boolean {
  return Object(error).code === 'ERR_HTTP_REQUEST_TIMEOUT';
}
