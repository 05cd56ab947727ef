/** Rooms and applications served on node:http: slow senders are cut off, and closing waits. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionInfo, HttpRequest } from './http-request.ts';
import { type HttpResponse, respond, toResponse } from './http-response.ts';
import { type ConnectionSet, createConnectionSet } from './node/connection-set.ts';
import { createForwardedReader, type ForwardedReader } from './node/forwarded.ts';
import { createIncomingRequest } from './node/incoming-request.ts';
import { createPipeliningLimit } from './node/pipelining-limit.ts';
import { createRequestTargetReader } from './node/request-target.ts';
import { writeResponse } from './node/write-response.ts';
import { loadNodeHttps, nodeHttp } from './node-http.ts';

export type { ConnectionInfo } from './http-request.ts';

/** What a server proves itself by: PEM texts. */
export interface TlsCertificate {
  /** The certificate, and those up to its authority. */
  readonly cert: string;
  readonly key: string;
}

/** What is served: it answers itself, or leaves that to an application. It reads no body that it leaves to one. */
export type HttpHandler = (
  asked: HttpRequest,
  connection: ConnectionInfo,
) => Promise<HttpResponse | FetchDelegate>;

/** Says that an application is to answer: one that speaks the web's own `Request` and `Response`, of which either may be a stream. */
export interface FetchDelegate {
  fetch(request: Request): Promise<Response>;
}

/** Serves an application and nothing else. */
export function serveFetch(
  application: (request: Request, connection: ConnectionInfo) => Promise<Response>,
): HttpHandler {
  return async (_asked, connection) => ({ fetch: (request) => application(request, connection) });
}

/** Where a server listens, and how. */
export interface ListenOptions {
  /** 0: any free one. */
  readonly port: number;
  /** The name or address of an interface of this computer. */
  readonly host: string;
  /** Takes what the handler threw, after which the request is answered with 500 and no reason. It must not throw. */
  readonly onError?: (error: unknown) => void;
  readonly timeouts?: Partial<ServerTimeouts>;
  /** Serves https, by this certificate. */
  readonly certificate?: TlsCertificate;
  /**
   * Addresses and blocks (`10.0.0.0/8`) of proxies of our own: what they say in `X-Forwarded-For`, `X-Forwarded-Proto` or
   * `Forwarded` is believed. Nobody's when left out.
   */
  readonly trustedProxies?: readonly string[];
}

/** Milliseconds. An answer of an application is not timed: it may be a stream that stays open for hours. */
export interface ServerTimeouts {
  /** For the headers of a request, from its first byte. */
  readonly headersTimeout: number;
  /** For a whole request with its body. */
  readonly requestTimeout: number;
  /** For a connection on which nothing is under way. */
  readonly keepAliveTimeout: number;
  /** For a whole answer of which nothing is taken: the connection ends. Streams of applications are not timed. */
  readonly responseTimeout: number;
  /** How often these are looked after. */
  readonly connectionsCheckingInterval: number;
}

/** A server that listens. */
export interface ListeningServer {
  readonly port: number;
  /**
   * Takes no new connections, lets requests under way end for at most `grace` milliseconds, then cuts what is left.
   * Answers how many connections were cut.
   */
  close(grace: number): Promise<number>;
  /** Connections from now on get this certificate. @throws when it cannot be used; the old one stays. Only for https */
  replaceCertificate(certificate: TlsCertificate): void;
}

const defaultTimeouts: ServerTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s after which the usual load balancers let go, so that they never send into a closing socket.
  keepAliveTimeout: 65_000,
  responseTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
};

/**
 * Serves a handler. Resolves when connections are accepted.
 * @throws the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND`) when the address cannot be had.
 */
export async function listen(handler: HttpHandler, options: ListenOptions): Promise<ListeningServer> {
  const unanswered = createConnectionSet<ServerResponse>();
  const answer = createListener(handler, options);
  const isTooMany = createPipeliningLimit();
  const { server, replaceCertificate } = createServerOf(options, (incoming, outgoing) => {
    if (isTooMany(incoming, outgoing)) return void incoming.socket.destroy();
    outgoing.on('close', unanswered.add(outgoing));
    answer(incoming, outgoing);
  });
  await bind(server, options);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return { port: address.port, close: (grace) => close(server, unanswered, grace), replaceCertificate };
}

const MALFORMED = failure(400, 'invalid_request', 'The address is malformed.');
const CODED = failure(
  501,
  'invalid_request',
  'Send the body as it is, or in chunks: no other transfer coding is read.',
);
const FAILED = failure(500, 'server_error', 'Something went wrong here. Try again later.');

function failure(status: number, error: string, description: string): HttpResponse {
  const body = JSON.stringify({ error, error_description: description });
  return respond(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }, body);
}

/** A request line or `Host` that is none is the sender's fault; anything else is ours, and nobody's to read. */
function createListener(
  handler: HttpHandler,
  { certificate, trustedProxies = [], onError, timeouts }: ListenOptions,
): RequestListener {
  const findOrigin = createForwardedReader(trustedProxies);
  const readTarget = createRequestTargetReader(certificate === undefined ? 'http' : 'https');
  const { responseTimeout: answerTimeout } = { ...defaultTimeouts, ...timeouts };

  return async (incoming, outgoing) => {
    const url = readTarget(incoming.url ?? '', incoming.headers.host);
    if (url === null) return writeResponse(incoming, outgoing, MALFORMED, answerTimeout);
    if (isCoded(incoming)) return writeResponse(incoming, outgoing, CODED, answerTimeout);
    try {
      const answer = await handler(createIncomingRequest(incoming, url), connectionOf(incoming, findOrigin));
      if ('fetch' in answer) await leaveTo(answer, incoming, outgoing, onError);
      else writeResponse(incoming, outgoing, answer, answerTimeout);
    } catch (error) {
      onError?.(error);
      if (outgoing.headersSent) outgoing.destroy();
      else writeResponse(incoming, outgoing, FAILED, answerTimeout);
    }
  };
}

/** Whether a body comes in a coding that nobody here undoes. @see RFC 9112 §6.1 */
function isCoded({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.toLowerCase() !== 'chunked';
}

/** What applications need is loaded when the first of them is asked: it takes time, and 17 MB. */
async function leaveTo(
  { fetch: application }: FetchDelegate,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onError: ListenOptions['onError'],
): Promise<void> {
  const { createFetchListener: createApplicationListener } = await import('./node/fetch-listener.ts');
  const listener = createApplicationListener(application, (error) => {
    onError?.(error);
    return toResponse(FAILED);
  });
  await listener(incoming, outgoing);
}

/** TLS 1.2 is the oldest version that may be used. @see RFC 9325 §3.1.1 */
const OLDEST_TLS = 'TLSv1.2';

function createServerOf(
  { timeouts, certificate }: ListenOptions,
  listener: RequestListener,
): { readonly server: Server; readonly replaceCertificate: ListeningServer['replaceCertificate'] } {
  // A field that is sent twice is seen twice: whoever guards it can refuse that.
  const options = { ...defaultTimeouts, ...timeouts, joinDuplicateHeaders: true };
  if (certificate !== undefined) {
    const server = loadNodeHttps().createServer(
      { ...options, ...certificate, minVersion: OLDEST_TLS },
      listener,
    );
    return {
      server,
      replaceCertificate: (next) => server.setSecureContext({ ...next, minVersion: OLDEST_TLS }),
    };
  }
  const replaceCertificate = () => {
    throw new Error('There is no certificate to replace.');
  };
  return { server: nodeHttp.createServer(options, listener), replaceCertificate };
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

function close(server: Server, unanswered: ConnectionSet<ServerResponse>, grace: number): Promise<number> {
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

function connectionOf({ socket, headers }: IncomingMessage, findOrigin: ForwardedReader): ConnectionInfo {
  const direct = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
  const { address, isProxied, protocol } = findOrigin(direct, headers);
  // A proxy that says nothing has been declared to speak TLS to everybody; one that says http was spoken to in the clear.
  const isSecure = (isEncrypted(socket) || isProxied) && protocol !== 'http';
  const isLocal = direct !== undefined && /^(?:127\.|::1$)/.test(direct) && protocol === null;
  const security = isSecure ? 'tls' : isLocal ? 'loopback' : 'cleartext';
  return address === undefined ? { security } : { address, security };
}

/** Told by the member that only sockets of TLS have, so that their module is not loaded for the question. */
function isEncrypted(socket: Socket): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}
