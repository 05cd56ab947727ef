/** Runs applications that use the standard `Request` and `Response` on node:http, streaming bodies both ways. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';

/** @param toErrorResponse creates the response for an error thrown by the handler */
export function createFetchListener(
  handler: (request: Request) => Promise<Response>,
  toErrorResponse: (error: unknown) => Response,
): RequestListener {
  const handle = async (request: Request, connection: unknown) => {
    const response = await handler(request);
    const { incoming, outgoing } = connection as NodeConnection;
    if (isEndless(request, response)) closeWithClient(incoming.socket, outgoing);
    return response;
  };
  return getRequestListener(handle, { errorHandler: toErrorResponse });
}

interface NodeConnection {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Whether a response ends only with its client: an event stream that was opened by GET. */
function isEndless({ method }: Request, { headers }: Response): boolean {
  return method === 'GET' && headers.get('content-type')?.startsWith('text/event-stream') === true;
}

/** The open event streams of each connection: one listener per socket, for any number of pipelined requests. */
const openStreams = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Ends an event stream when its client has half-closed the connection. Other responses are still completed: a client
 * may half-close and then wait.
 * @see RFC 9112 §9.6
 */
function closeWithClient(socket: Socket, outgoing: ServerResponse): void {
  if (socket.readableEnded) {
    // Only now is the response, with the stream to cancel, available to the listener.
    setImmediate(() => outgoing.destroy());
    return;
  }
  const streams = openStreams.get(socket) ?? watchEnd(socket);
  streams.add(outgoing);
  outgoing.once('close', () => streams.delete(outgoing));
}

function watchEnd(socket: Socket): Set<ServerResponse> {
  const streams = new Set<ServerResponse>();
  openStreams.set(socket, streams);
  socket.once('end', () => {
    for (const outgoing of streams) outgoing.destroy();
  });
  return streams;
}
