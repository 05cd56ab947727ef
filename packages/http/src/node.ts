/** A web-standard handler served on node:http: bodies pass as streams, slow senders are cut off, and closing waits. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';

/** Who is at the other end of the connection. */
export interface Peer {
  /** Its IP address; an IPv4 address is written as one even when it came over an IPv6 socket. */
  readonly address?: string;
}

/** What is served. */
export type PeerHandler = (request: Request, peer: Peer) => Promise<Response>;

export interface ListenOptions {
  /** 0: any free one. */
  readonly port: number;
  /** The name or address of an interface of this computer. */
  readonly host: string;
  /** Takes what the handler threw, after which the request is answered with 500 and no reason. It must not throw. */
  readonly onError?: (error: unknown) => void;
  readonly timeouts?: Partial<Timeouts>;
}

/** Milliseconds. Only the sending of a request is timed: an answer may be a stream that stays open for hours. */
export interface Timeouts {
  /** For the headers of a request, from its first byte. */
  readonly headersTimeout: number;
  /** For a whole request with its body. */
  readonly requestTimeout: number;
  /** For a connection on which nothing is under way. */
  readonly keepAliveTimeout: number;
  /** How often these are looked after. */
  readonly connectionsCheckingInterval: number;
}

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /**
   * Takes no new connections, lets requests under way end for at most `grace` milliseconds, then cuts what is left.
   * Answers how many connections were cut.
   */
  close(grace: number): Promise<number>;
}

const defaultTimeouts: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s after which the usual load balancers let go, so that they never send into a closing socket.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};

/**
 * Serves a handler. Resolves when connections are accepted.
 * @throws the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND`) when the address cannot be had.
 */
export async function listen(handler: PeerHandler, options: ListenOptions): Promise<Listening> {
  const unanswered = new Set<ServerResponse>();
  const answer = getRequestListener(
    (request, bindings) => {
      const { incoming } = bindings as HttpBindings;
      if (USER_INFORMATION.test(incoming.url ?? '')) throw new RequestError('The target names a user.');
      return handler(request, peerOf(bindings as HttpBindings));
    },
    { errorHandler: (error) => respondFailure(error, options.onError) },
  );
  const server = createServer({ ...defaultTimeouts, ...options.timeouts }, (incoming, outgoing) => {
    unanswered.add(outgoing);
    outgoing.once('close', () => unanswered.delete(outgoing));
    void answer(incoming, outgoing);
  });
  await bind(server, options);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return { port: address.port, close: (grace) => close(server, unanswered, grace) };
}

function bind(server: Server, { port, host }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server, unanswered: ReadonlySet<ServerResponse>, grace: number): Promise<number> {
  const letGo = (outgoing: ServerResponse) => {
    // Tells the client not to send more on this connection; without it the connection would idle, open, until its timeout.
    if (!outgoing.headersSent) outgoing.shouldKeepAlive = false;
    outgoing.once('close', () => server.closeIdleConnections());
  };
  return new Promise((resolve) => {
    let cut = 0;
    const deadline = setTimeout(() => {
      cut = unanswered.size;
      server.closeAllConnections();
    }, grace);
    server.close(() => {
      clearTimeout(deadline);
      resolve(cut);
    });
    for (const outgoing of unanswered) letGo(outgoing);
    server.prependListener('request', (_incoming, outgoing) => letGo(outgoing));
  });
}

/** A URI with user information MUST NOT be a target, and no request can be made of it. @see RFC 9110 §4.2.4 */
const USER_INFORMATION = /^[^/?#]*:\/\/[^/?#]*@/;

function peerOf({ incoming }: HttpBindings): Peer {
  const address = incoming.socket.remoteAddress;
  return address === undefined ? {} : { address: address.replace(/^::ffff:(?=\d+\.)/, '') };
}

/** A request line or `Host` that is none is the sender's fault; anything else is ours, and nobody's to read. */
function respondFailure(error: unknown, onError: ListenOptions['onError']): Response {
  if (error instanceof RequestError) return failure(400, 'invalid_request', 'The address is malformed.');
  onError?.(error);
  return failure(500, 'server_error', 'Something went wrong here. Try again later.');
}

function failure(status: number, error: string, description: string): Response {
  return Response.json(
    { error, error_description: description },
    { status, headers: { 'cache-control': 'no-store' } },
  );
}
