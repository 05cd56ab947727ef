/** A web-standard handler served on node:http: bodies pass as streams, slow senders are cut off, and closing waits. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { TLSSocket } from 'node:tls';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { createFindOrigin, type FindOrigin } from './forwarded.ts';
import { createRoster, type Roster } from './roster.ts';

/** Who is at the other end of the connection. */
export interface Peer {
  /** Its IP address; an IPv4 address is written as one even when it came over an IPv6 socket. */
  readonly address?: string;
  /**
   * Who can listen in: nobody (`secure`: TLS here, or up to a proxy of our own), nobody outside of this computer (`local`), or
   * anybody in between (`plain`).
   */
  readonly connection: 'secure' | 'local' | 'plain';
}

/** What a server proves itself by: PEM texts. */
export interface Certificate {
  /** The certificate, and those up to its authority. */
  readonly cert: string;
  readonly key: string;
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
  /** Serves https, by this certificate. */
  readonly certificate?: Certificate;
  /**
   * Addresses and blocks (`10.0.0.0/8`) of proxies of our own: what they say in `X-Forwarded-For`, `X-Forwarded-Proto` or
   * `Forwarded` is believed. Nobody's when left out.
   */
  readonly trustedProxies?: readonly string[];
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
  /** Connections from now on get this certificate. @throws when it cannot be used; the old one stays. Only for https */
  replaceCertificate(certificate: Certificate): void;
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
  const unanswered = createRoster<ServerResponse>();
  const findOrigin = createFindOrigin(options.trustedProxies ?? []);
  const answer = getRequestListener(
    (request, bindings) => {
      const { incoming } = bindings as HttpBindings;
      if (USER_INFORMATION.test(incoming.url ?? '')) throw new RequestError('The target names a user.');
      return handler(request, peerOf(bindings as HttpBindings, findOrigin));
    },
    { errorHandler: (error) => respondFailure(error, options.onError) },
  );
  const { server, replaceCertificate } = createServerOf(options, (incoming, outgoing) => {
    outgoing.once('close', unanswered.add(outgoing));
    void answer(incoming, outgoing);
  });
  await bind(server, options);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return { port: address.port, close: (grace) => close(server, unanswered, grace), replaceCertificate };
}

/** TLS 1.2 is the oldest version that may be used. @see RFC 9325 §3.1.1 */
const OLDEST_TLS = 'TLSv1.2';

function createServerOf(
  { timeouts, certificate }: ListenOptions,
  listener: RequestListener,
): { readonly server: Server; readonly replaceCertificate: Listening['replaceCertificate'] } {
  const options = { ...defaultTimeouts, ...timeouts };
  if (certificate !== undefined) {
    const server = createSecureServer({ ...options, ...certificate, minVersion: OLDEST_TLS }, listener);
    return {
      server,
      replaceCertificate: (next) => server.setSecureContext({ ...next, minVersion: OLDEST_TLS }),
    };
  }
  const replaceCertificate = () => {
    throw new Error('There is no certificate to replace.');
  };
  return { server: createServer(options, listener), replaceCertificate };
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

function close(server: Server, unanswered: Roster<ServerResponse>, grace: number): Promise<number> {
  const letGo = (outgoing: ServerResponse) => {
    // Tells the client not to send more on this connection; without it the connection would idle, open, until its timeout.
    if (!outgoing.headersSent) outgoing.shouldKeepAlive = false;
    outgoing.once('close', () => server.closeIdleConnections());
  };
  return new Promise((resolve) => {
    let cut = 0;
    const deadline = setTimeout(() => {
      cut = unanswered.size();
      server.closeAllConnections();
    }, grace);
    server.close(() => {
      clearTimeout(deadline);
      resolve(cut);
    });
    for (const outgoing of unanswered.all()) letGo(outgoing);
    server.prependListener('request', (_incoming, outgoing) => letGo(outgoing));
  });
}

/** A URI with user information MUST NOT be a target, and no request can be made of it. @see RFC 9110 §4.2.4 */
const USER_INFORMATION = /^[^/?#]*:\/\/[^/?#]*@/;

function peerOf({ incoming }: HttpBindings, findOrigin: FindOrigin): Peer {
  const { socket, headers } = incoming;
  const direct = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
  const { address, isProxied, protocol } = findOrigin(direct, headers);
  // A proxy that says nothing has been declared to speak TLS to everybody; one that says http was spoken to in the clear.
  const isSecure = (socket instanceof TLSSocket || isProxied) && protocol !== 'http';
  const isLocal = direct !== undefined && /^(?:127\.|::1$)/.test(direct) && protocol === null;
  const connection = isSecure ? 'secure' : isLocal ? 'local' : 'plain';
  return address === undefined ? { connection } : { address, connection };
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
