/** The pass-through path: forwards requests to an HTTP backend that speaks the client's wire, and streams the responses back. */
import type { IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import { createGauge, type Gauge } from '../limits/gauge.ts';
import { ownerKey } from '../servers/owner.ts';
import type { GatewayRequest } from '../servers/request.ts';
import type { GatewayServer, HttpBackendDefinition } from '../servers/server.ts';
import type { Sealer } from '../sessions/sealer.ts';
import { type Address, type Addresses, createAddresses } from './addresses.ts';
import {
  badGateway,
  type GatewayError,
  invalidRequest,
  sendError,
  sessionNotFound,
  tooManyCalls,
  unavailable,
} from './error-response.ts';
import { createEventIdRewriter, type EventIdRewriter } from './event-ids.ts';
import { forwardedHeaders, isPlainJson, isStreamType, responseHeaders } from './headers.ts';
import { receiveBody } from './request-body.ts';

export interface PassThroughOptions {
  readonly sealer: Sealer;
  /** Headers of every response, as a flat list. */
  readonly commonHeaders: readonly string[];
  /** An address of the backend went down, or is reached again. */
  readonly onHealth: (server: GatewayServer, address: Address, reason: string | null) => void;
}

/** One HTTP backend. */
export interface PassThrough {
  handle(request: GatewayRequest): void;
  readonly addresses: Addresses;
  /** Requests and streams in progress. */
  readonly active: () => number;
  close(): Promise<void>;
}

interface Backend extends PassThroughOptions {
  readonly server: GatewayServer;
  readonly definition: HttpBackendDefinition;
  readonly addresses: Addresses;
  readonly requests: Gauge;
  readonly streams: Gauge;
}

const METHODS: readonly (string | undefined)[] = ['POST', 'GET', 'DELETE'];

export function createPassThrough(
  server: GatewayServer,
  definition: HttpBackendDefinition,
  options: PassThroughOptions,
): PassThrough {
  const addresses = createAddresses(definition, server);
  const backend: Backend = {
    ...options,
    server,
    definition,
    addresses,
    requests: createGauge(server.limits.concurrency),
    streams: createGauge(server.limits.streamsPerUser),
  };
  return {
    addresses,
    active: () => backend.requests.total + backend.streams.total,
    close: () => addresses.close(),
    handle(request) {
      const fail = (error: unknown) => sendError(request.outgoing, error, options.commonHeaders);
      try {
        start(backend, request, fail);
      } catch (error) {
        fail(error);
      }
    },
  };
}

function start(backend: Backend, request: GatewayRequest, fail: (error: unknown) => void): void {
  const { incoming } = request;
  const { method, headers } = incoming;
  if (!METHODS.includes(method))
    throw invalidRequest(405, 'This server supports POST, GET and DELETE.', ['allow', 'POST, GET, DELETE']);
  const session = openSession(backend, request);
  if (method !== 'POST') {
    forward(backend, request, session, null, fail);
    return;
  }
  if (!isPlainJson(headers))
    throw invalidRequest(415, 'Send the body as application/json in UTF-8, not compressed.');
  receiveBody(incoming, backend.server.limits.body, (error, body) => {
    if (error !== null) return fail(error);
    try {
      forward(backend, request, session, body, fail);
    } catch (thrown) {
      fail(thrown);
    }
  });
}

/** The session of a request, opened. */
interface OpenSession {
  readonly sealed: string;
  readonly id: string;
  readonly address: Address;
}

/** @throws GatewayError 404 for a session of another user, client or server, before anything reaches the backend */
function openSession(
  { sealer, addresses }: Backend,
  { incoming, owner }: GatewayRequest,
): OpenSession | null {
  const sealed = incoming.headers['mcp-session-id'];
  if (sealed === undefined) return null;
  const text = sealer.open('session', owner, String(sealed));
  const address = text === null ? null : addresses.byTag(text.slice(0, TAG_LENGTH));
  if (text === null || address === null) throw sessionNotFound();
  return { sealed: String(sealed), id: text.slice(TAG_LENGTH), address };
}

const TAG_LENGTH = 8;

function forward(
  backend: Backend,
  request: GatewayRequest,
  session: OpenSession | null,
  body: Buffer | null,
  fail: (error: unknown) => void,
): void {
  const { incoming } = request;
  const { server, definition, requests, streams } = backend;
  const isStream = incoming.method === 'GET';
  const headers = forwardedHeaders(incoming.headers, definition.forward);
  if (session !== null) headers.push('mcp-session-id', session.id);
  addLastEventId(backend, request, headers);
  const release = isStream ? streams.take(ownerKey(request.owner)) : requests.take('');
  if (release === null) throw isStream ? tooManyStreams(server) : busy(server);
  new Exchange(backend, request, { session, body, headers, release, fail }).send();
}

/** An event id of another user is as unknown as a session. */
function addLastEventId({ sealer }: Backend, { incoming, owner }: GatewayRequest, headers: string[]): void {
  const sealed = incoming.headers['last-event-id'];
  if (sealed === undefined || sealed === '') return;
  const id = sealer.open('event', owner, String(sealed));
  if (id === null) throw sessionNotFound();
  headers.push('last-event-id', id);
}

function busy({ name }: GatewayServer): GatewayError {
  return unavailable(`${name} is busy: too many requests at once.`, 1);
}

function tooManyStreams({ name }: GatewayServer): GatewayError {
  return tooManyCalls(`Too many open streams to ${name}: close one first.`, 5);
}

interface Sending {
  readonly session: OpenSession | null;
  readonly body: Buffer | null;
  readonly headers: readonly string[];
  readonly release: () => void;
  readonly fail: (error: unknown) => void;
}

class ClientGone extends Error {
  override readonly name: string = 'ClientGone';
}

/** One request and its response; also the handler of the connection to the backend. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #backend: Backend;
  readonly #request: GatewayRequest;
  readonly #sending: Sending;
  readonly #tried = new Set<Address>();
  #address: Address | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #release: () => void;
  #rewriter: EventIdRewriter | null = null;
  #isOver = false;
  #isIgnored = false;

  constructor(backend: Backend, request: GatewayRequest, sending: Sending) {
    this.#backend = backend;
    this.#request = request;
    this.#sending = sending;
    this.#release = sending.release;
    request.outgoing.on('close', this.#onClientClose);
  }

  /** Sends the request to the address of its session, or to the first that is not down. */
  send(): void {
    const { addresses, server } = this.#backend;
    const { headers, body } = this.#sending;
    const now = performance.now();
    const address = this.#choose(now);
    if (address === null) {
      this.#end();
      this.#sending.fail(isDown(server, addresses.retryAfter(now)));
      return;
    }
    this.#address = address;
    this.#tried.add(address);
    const method = (this.#request.incoming.method ?? 'GET') as Dispatcher.HttpMethod;
    const isStream = method === 'GET';
    const options = { path: address.target, method, headers: headers as string[], body };
    address.pool.dispatch(isStream ? { ...options, bodyTimeout: 0, blocking: true } : options, this);
  }

  #choose(now: number): Address | null {
    const { addresses } = this.#backend;
    const { session } = this.#sending;
    if (session === null) return addresses.choose(now, this.#tried);
    return session.address.downUntil <= now && !this.#tried.has(session.address) ? session.address : null;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new ClientGone());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    const { addresses, server, commonHeaders } = this.#backend;
    const { outgoing } = this.#request;
    if (this.#address !== null) this.#noteSuccess(addresses, this.#address);
    if (status === 401 || (status >= 300 && status < 400 && status !== 304)) {
      this.#refuse(status, server);
      return;
    }
    const isStream = isStreamType(headers['content-type']);
    if (isStream) this.#becomeStream();
    const fields = responseHeaders(headers, isStream);
    for (const field of commonHeaders) fields.push(field);
    this.#addSession(headers['mcp-session-id'], fields);
    outgoing.writeHead(status, fields);
    if (isStream) outgoing.flushHeaders();
  }

  #noteSuccess(addresses: Addresses, address: Address): void {
    const wasDown = address.failures > 0;
    addresses.succeeded(address, performance.now());
    if (wasDown) this.#backend.onHealth(this.#backend.server, address, null);
  }

  /** A redirect is not followed, and a challenge to the gateway is none of the client's. */
  #refuse(status: number, { name }: GatewayServer): void {
    this.#isIgnored = true;
    const reason =
      status === 401
        ? `${name} does not accept the credentials of this gateway: ask its operator.`
        : `${name} redirects (${status}), which is not followed: the operator has to configure its final URL.`;
    this.#sending.fail(badGateway(reason));
    this.#end();
    this.#controller?.abort(new ClientGone());
  }

  /** An open stream counts by its user, not among the requests at once. */
  #becomeStream(): void {
    const { sealer, streams } = this.#backend;
    const { owner, incoming } = this.#request;
    this.#rewriter = createEventIdRewriter((id) => sealer.seal('event', owner, id));
    if (incoming.method === 'GET') return;
    const release = streams.take(ownerKey(owner));
    // A call that is answered by a stream is not refused: it has been made.
    if (release === null) return;
    this.#release();
    this.#release = release;
  }

  #addSession(id: string | string[] | undefined, fields: string[]): void {
    if (id === undefined || Array.isArray(id)) return;
    const { session } = this.#sending;
    const { sealer } = this.#backend;
    // Backends repeat the id in each response; the client keeps the one that it has.
    const sealed =
      session?.id === id
        ? session.sealed
        : sealer.seal('session', this.#request.owner, `${this.#address?.tag ?? ''}${id}`);
    fields.push('mcp-session-id', sealed);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isIgnored) return;
    const { outgoing } = this.#request;
    const bytes = this.#rewriter === null ? chunk : this.#rewriter.push(chunk);
    if (bytes === null || outgoing.write(bytes)) return;
    controller.pause();
    const timer = setTimeout(() => outgoing.destroy(), this.#backend.server.limits.idle * 1000);
    const stop = () => clearTimeout(timer);
    outgoing.once('close', stop);
    outgoing.once('drain', () => {
      stop();
      outgoing.off('close', stop);
      controller.resume();
    });
  }

  onResponseEnd(): void {
    if (this.#isIgnored) return;
    this.#end();
    this.#request.outgoing.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isIgnored || this.#isOver) return;
    const { outgoing } = this.#request;
    if (outgoing.headersSent) {
      this.#end();
      outgoing.destroy();
      return;
    }
    const isUnsent = this.#noteFailure(error);
    // Only what has not been sent may be sent again.
    if (isUnsent && this.#sending.session === null && this.#hasAlternative()) {
      this.send();
      return;
    }
    this.#end();
    const { server, addresses } = this.#backend;
    this.#sending.fail(
      isDown(server, isUnsent ? addresses.retryAfter(performance.now()) : 1, reasonFor(error)),
    );
  }

  #hasAlternative(): boolean {
    return this.#backend.addresses.choose(performance.now(), this.#tried) !== null;
  }

  /** @returns whether the request did not reach the backend */
  #noteFailure(error: Error & { readonly code?: string }): boolean {
    const isUnsent = UNSENT.has(error.code ?? '');
    const { addresses, onHealth, server } = this.#backend;
    if (isUnsent && this.#address !== null && addresses.failed(this.#address, performance.now()))
      onHealth(server, this.#address, error.code ?? error.message);
    return isUnsent;
  }

  readonly #onClientClose = (): void => {
    if (this.#isOver) return;
    this.#end();
    this.#controller?.abort(new ClientGone());
  };

  #end(): void {
    this.#isOver = true;
    this.#release();
  }
}

/** Failures before a connection was made. */
const UNSENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EACCES',
  'EPERM',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

function reasonFor(error: Error & { readonly code?: string }): string {
  return error.code === 'UND_ERR_HEADERS_TIMEOUT' ? 'does not respond' : 'cannot be reached';
}

function isDown({ name }: GatewayServer, retryAfter: number, reason = 'cannot be reached'): GatewayError {
  return unavailable(`${name} ${reason} at the moment. Try again later.`, retryAfter);
}
