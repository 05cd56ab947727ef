/** Serves handlers and fetch applications on node:http, with timeouts for slow clients and graceful shutdown. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionInfo, HttpRequest } from '../http-request.ts';
import { type HttpResponse, respond, toResponse } from '../http-response.ts';
import {
  type ConnectionSet,
  createConnectionSet,
  createPipeliningLimit,
  watchDisconnect,
} from './connections.ts';
import { createForwardedReader, type ForwardedReader } from './forwarded.ts';
import { createIncomingRequest } from './incoming-request.ts';
import { keepLongBodies } from './long-bodies.ts';
import { allowParserRelease, isLasting } from './long-streams.ts';
import { loadNodeHttps, nodeHttp } from './node-http.ts';
import { createRequestTargetReader } from './request-target.ts';
import { writeResponse } from './write-response.ts';

export type { ConnectionInfo } from '../http-request.ts';
export { allowLongBody } from './long-bodies.ts';
export { isLasting, releaseParser } from './long-streams.ts';

/** A TLS certificate and its key, in PEM. */
export interface TlsCertificate {
  /** The certificate chain: the certificate first, then those of its issuers. */
  readonly cert: string;
  readonly key: string;
}

/** Handles a request or delegates it. It must not read the body of a delegated request. */
export type HttpHandler = (
  request: HttpRequest,
  connection: ConnectionInfo,
) => Promise<HttpResponse | FetchDelegate | NodeDelegate>;

/** Delegates a request to a handler on node:http itself, for speed. It responds to its own errors and must not throw. */
export interface NodeDelegate {
  node(incoming: IncomingMessage, outgoing: ServerResponse): void;
}

/** Delegates a request to a handler of standard `Request` and `Response`, whose bodies may be streams. */
export interface FetchDelegate {
  fetch(request: Request): Promise<Response>;
}

/** Serves a fetch application only. */
export function serveFetch(
  application: (request: Request, connection: ConnectionInfo) => Promise<Response>,
): HttpHandler {
  return async (_request, connection) => ({ fetch: (request) => application(request, connection) });
}

/** Options of a listening server. */
export interface ListenOptions {
  /** 0 chooses a free port. */
  readonly port: number;
  /** The name or address of a network interface. */
  readonly host: string;
  /** Receives errors that the handler throws; the client gets a 500 without details. It must not throw. */
  readonly onError?: (error: unknown) => void;
  readonly timeouts?: Partial<ServerTimeouts>;
  /** Serves https with this certificate. */
  readonly certificate?: TlsCertificate;
  /**
   * Addresses and blocks (`10.0.0.0/8`) of trusted proxies, whose `X-Forwarded-For`, `X-Forwarded-Proto` or
   * `Forwarded` headers are trusted. None by default.
   */
  readonly trustedProxies?: readonly string[];
}

/**
 * Timeouts in milliseconds. Responses of fetch applications are not limited: they may be streams open for
 * hours.
 */
interface ServerTimeouts {
  /** For the headers of a request, from its first byte. */
  readonly headersTimeout: number;
  /** For a whole request with its body, unless its handler limits the time of the body (`allowLongBody`). */
  readonly requestTimeout: number;
  /** For a connection without a request in progress. */
  readonly keepAliveTimeout: number;
  /** For a response that the client does not read; then the connection is closed. */
  readonly responseTimeout: number;
  /** How often timeouts are checked. */
  readonly connectionsCheckingInterval: number;
}

/** A listening server. */
export interface ListeningServer {
  readonly port: number;
  /** From now on each response has `Connection: close`: clients open new connections elsewhere. */
  closeAfterResponses(): void;
  /**
   * Accepts no new connections, ends event streams opened by GET, lets other requests in progress finish for at most
   * `grace` milliseconds, lets their handlers end them (`onShutdown`), then closes the rest. Idle connections are closed after half a second,
   * in which a request that is in transit is still served.
   * @param idle `kept`: idle connections also stay open, for one more request each, which may already be in transit
   * @returns how many connections were cut off
   */
  close(grace: number, idle?: 'kept'): Promise<number>;
  /**
   * Uses this certificate for new connections.
   * @throws if it cannot be used or the server has none; the old one stays in use
   */
  replaceCertificate(certificate: TlsCertificate): void;
}

const defaultTimeouts: ServerTimeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the 60 s idle timeout of common load balancers, which must never send on a closing socket.
  keepAliveTimeout: 65_000,
  responseTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
};

/**
 * Serves a handler. Resolves when connections are accepted.
 * @throws the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND`) if the address cannot be used
 * @example
 * ```ts
 * import { respondJson } from '@portcullis/http';
 * import { listen } from '@portcullis/http/node';
 *
 * const server = await listen(async () => respondJson({ ready: true }), { port: 0, host: '127.0.0.1' });
 * console.log(await (await fetch(`http://127.0.0.1:${server.port}`)).text()); // {"ready":true}
 * await server.close(1000);
 * ```
 */
export async function listen(handler: HttpHandler, options: ListenOptions): Promise<ListeningServer> {
  const openResponses = createConnectionSet<ServerResponse>();
  const handle = createListener(handler, options);
  const exceedsPipeliningLimit = createPipeliningLimit();
  // One for all responses.
  function remove(this: ServerResponse): void {
    openResponses.remove(this);
  }
  const { server, replaceCertificate } = createNodeServer(options, (incoming, outgoing) => {
    if (exceedsPipeliningLimit(incoming, outgoing)) return void incoming.socket.destroy();
    openResponses.add(outgoing);
    outgoing.on('close', remove);
    watchDisconnect(incoming, outgoing);
    handle(incoming, outgoing);
  });
  await bind(server, options);
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  return {
    port: address.port,
    closeAfterResponses: () => closeAfterResponses(server, openResponses, true),
    close: (grace, idle) => closeServer(server, openResponses, grace, idle === 'kept'),
    replaceCertificate,
  };
}

const MALFORMED_TARGET = failure(400, 'invalid_request', 'The request target is malformed.');
const UNSUPPORTED_CODING = failure(
  501,
  'invalid_request',
  'Send the body without a transfer coding, or chunked.',
);
const INTERNAL_ERROR = failure(500, 'server_error', 'Something went wrong here. Try again later.');

function failure(status: number, error: string, description: string): HttpResponse {
  const body = JSON.stringify({ error, error_description: description });
  return respond(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }, body);
}

/** Responds 400 to a malformed request line or `Host`, and 500 without details to any internal error. */
function createListener(
  handler: HttpHandler,
  { certificate, trustedProxies = [], onError, timeouts }: ListenOptions,
): RequestListener {
  const readForwarded = createForwardedReader(trustedProxies);
  const readTarget = createRequestTargetReader(certificate === undefined ? 'http' : 'https');
  const { responseTimeout } = { ...defaultTimeouts, ...timeouts };

  return async (incoming, outgoing) => {
    const url = readTarget(incoming.url ?? '', incoming.headers.host);
    if (url === null) return writeResponse(incoming, outgoing, MALFORMED_TARGET, responseTimeout);
    if (hasUnsupportedCoding(incoming))
      return writeResponse(incoming, outgoing, UNSUPPORTED_CODING, responseTimeout);
    try {
      const response = await handler(
        createIncomingRequest(incoming, url),
        connectionOf(incoming, readForwarded),
      );
      if ('node' in response) response.node(incoming, outgoing);
      else if ('fetch' in response) await delegate(response, incoming, outgoing, onError);
      else writeResponse(incoming, outgoing, response, responseTimeout);
    } catch (error) {
      onError?.(error);
      if (outgoing.headersSent) outgoing.destroy();
      else writeResponse(incoming, outgoing, INTERNAL_ERROR, responseTimeout);
    }
  };
}

/** Whether the body has a transfer coding that is not supported. @see RFC 9112 §6.1 */
function hasUnsupportedCoding({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.toLowerCase() !== 'chunked';
}

/** Loads the listener on first use: it costs startup time and 17 MB. */
async function delegate(
  response: FetchDelegate,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onError: ListenOptions['onError'],
): Promise<void> {
  const { getRequestListener } = await import('@hono/node-server');
  const errorHandler = (error: unknown) => {
    onError?.(error);
    return toResponse(INTERNAL_ERROR);
  };
  await getRequestListener((request) => response.fetch(request), { errorHandler })(incoming, outgoing);
}

/** The minimum TLS version. @see RFC 9325 §3.1.1 */
const MIN_TLS_VERSION = 'TLSv1.2';

/** TCP keep-alive detects disconnected clients within two minutes, even on idle connections. */
const keepAliveProbes = { keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

function createNodeServer(
  { timeouts, certificate }: ListenOptions,
  listener: RequestListener,
): { readonly server: Server; readonly replaceCertificate: ListeningServer['replaceCertificate'] } {
  // Repeated headers are joined, so that handlers can detect and reject them.
  const options = { ...defaultTimeouts, ...timeouts, ...keepAliveProbes, joinDuplicateHeaders: true };
  if (certificate !== undefined) {
    const server = loadNodeHttps().createServer(
      {
        ...options,
        ...certificate,
        minVersion: MIN_TLS_VERSION,
        // Node's own limit is two minutes.
        handshakeTimeout: options.headersTimeout,
        allowHalfOpen: true,
      },
      listener,
    );
    return {
      server: allowParserRelease(keepLongBodies(answerHalfClosed(server))),
      replaceCertificate: (next) => server.setSecureContext({ ...next, minVersion: MIN_TLS_VERSION }),
    };
  }
  const replaceCertificate = () => {
    throw new Error('This server has no certificate to replace.');
  };
  const server = nodeHttp.createServer(options, listener);
  return { server: allowParserRelease(keepLongBodies(answerHalfClosed(server))), replaceCertificate };
}

/**
 * A client that half-closes the connection after the request still gets its response. Node would drop it; its only option is
 * this property, present since its first versions.
 * @see RFC 9112 §9.6
 */
function answerHalfClosed<T extends Server>(server: T): T {
  return Object.assign(server, { httpAllowHalfOpen: true });
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

/** Milliseconds for a request in transit on a connection that is idle when the server closes. */
const TRANSIT = 500;
/** Milliseconds for the last responses of handlers. */
const LAST_RESPONSES = 1000;

function closeServer(
  server: Server,
  openResponses: ConnectionSet<ServerResponse>,
  grace: number,
  keepsIdle: boolean,
): Promise<number> {
  return new Promise((resolve) => {
    let cut = 0;
    let last: NodeJS.Timeout | undefined;
    const deadline = setTimeout(() => {
      cut = openResponses.size();
      for (const outgoing of openResponses.all()) endByHandlers(outgoing);
      server.closeIdleConnections();
      last = setTimeout(
        () => {
          for (const outgoing of openResponses.all()) outgoing.destroy();
          server.closeAllConnections();
        },
        Math.min(grace, LAST_RESPONSES),
      );
    }, grace);
    const idle = keepsIdle
      ? undefined
      : setTimeout(() => server.closeIdleConnections(), Math.min(grace, TRANSIT));
    // The method of http.Server would close idle connections at once.
    process.getBuiltinModule('node:net').Server.prototype.close.call(server, () => {
      for (const timer of [deadline, idle, last]) clearTimeout(timer);
      resolve(cut);
    });
    for (const outgoing of openResponses.all()) if (isLasting(outgoing.req)) endLasting(outgoing);
    closeAfterResponses(server, openResponses, keepsIdle);
  });
}

/** @param keepsIdle whether connections stay open that are idle after a response */
function closeAfterResponses(
  server: Server,
  openResponses: ConnectionSet<ServerResponse>,
  keepsIdle: boolean,
): void {
  const closeAfter = (outgoing: ServerResponse) => {
    // Without `Connection: close` the connection would stay idle until its timeout.
    if (!outgoing.headersSent) outgoing.shouldKeepAlive = false;
    // One whose headers were sent before stays open.
    else if (!keepsIdle)
      outgoing.once('close', () => setTimeout(() => server.closeIdleConnections(), TRANSIT).unref());
  };
  for (const outgoing of openResponses.all()) closeAfter(outgoing);
  server.prependListener('request', (_incoming, outgoing) => closeAfter(outgoing));
}

const SHUTDOWN = 'portcullis.shutdown';

/** Calls back when the server stops before the response has ended: the last chance to end it. */
export function onShutdown(outgoing: ServerResponse, listener: (this: ServerResponse) => void): void {
  // Without `once`, whose wrapper each response would retain for an event that few get.
  outgoing.on(SHUTDOWN, listener);
}

function endByHandlers(outgoing: ServerResponse): void {
  outgoing.emit(SHUTDOWN);
  outgoing.removeAllListeners(SHUTDOWN);
}

/** Ends an event stream: waiting for its end would only delay the client's reconnection. A document opened by GET is finished. */
function endLasting(outgoing: ServerResponse): void {
  const { req, headersSent } = outgoing;
  if (req.method !== 'GET') endByHandlers(outgoing);
  else if (headersSent && req.headers.accept?.includes('text/event-stream') === true) outgoing.destroy();
}

function connectionOf({ socket, headers }: IncomingMessage, readForwarded: ForwardedReader): ConnectionInfo {
  const direct = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
  const { address, isProxied, protocol } = readForwarded(direct, headers);
  // A trusted proxy that reports no scheme is assumed to terminate TLS; one that reports http received cleartext.
  const isSecure = (isEncrypted(socket) || isProxied) && protocol !== 'http';
  const isLocal = direct !== undefined && /^(?:127\.|::1$)/.test(direct) && protocol === null;
  const security = isSecure ? 'tls' : isLocal ? 'loopback' : 'cleartext';
  return address === undefined ? { security } : { address, security };
}

/** Detected by a property of TLS sockets, without loading the TLS module. */
function isEncrypted(socket: Socket): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}
