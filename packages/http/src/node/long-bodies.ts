/** Request bodies that may take longer than the timeout of requests, because their handler limits the time itself. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Sockets. */
const exempt = new WeakSet<object>();

/** Takes over the time limit of the body of a request: the caller has to end a body that no longer arrives. */
export function allowLongBody({ socket }: IncomingMessage, outgoing: ServerResponse): void {
  exempt.add(socket);
  outgoing.once('close', () => exempt.delete(socket));
}

/**
 * Node reports that a request takes too long once, as an error of its client, and closes the connection. It does nothing where that
 * event has been handled; a listener for it would have to handle all errors of clients.
 */
export function keepLongBodies<T extends Server>(server: T): T {
  const { emit } = server;
  return Object.assign(server, {
    emit(name: string, ...details: readonly unknown[]): boolean {
      const isExempt = name === 'clientError' && isTimeout(details[0]) && exempt.has(Object(details[1]));
      return isExempt || Reflect.apply(emit, server, [name, ...details]);
    },
  });
}

function isTimeout(error: unknown): boolean {
  return Object(error).code === 'ERR_HTTP_REQUEST_TIMEOUT';
}
