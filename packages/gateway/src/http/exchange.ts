/** One request to an HTTP backend and its response, streamed to the client: the effects of `exchange-phases.ts`. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { isLasting, onShutdown, releaseParser } from '@portcullis/http/node';
import type { Dispatcher } from 'undici';
import type { Address, Addresses } from '../addresses/addresses.ts';
import { connectionFailure } from '../addresses/connection-failure.ts';
import type { BackendCredential, CredentialSource } from '../credentials/credential-source.ts';
import { type ExpectedResponses, joinEventId } from '../messages/check-responses.ts';
import type { GatewayError } from '../messages/gateway-error.ts';
import { type GatewayRequest, userKey } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import type { Sealer } from '../sessions/sealer.ts';
import { BackendRequest, type BackendRequestListener } from './backend-request.ts';
import { type BodyEdit, type ByteSink, EditedBody, type EditedBodyListener } from './edited-body.ts';
import { endStreamAtShutdown, OutcomeUnknown, unavailable } from './error-response.ts';
import {
  type ExchangeEffect,
  type ExchangeEnd,
  type ExchangeEvent,
  type ExchangePhase,
  nextExchange,
  type ResponseHead,
  type SentMessage,
} from './exchange-phases.ts';
import { closeUnread, contentTypeOf, isStreamType, responseHeaders, withFields } from './headers.ts';
import type { ServerSlots } from './slots.ts';
import { StreamedBody } from './streamed-body.ts';

/** What the exchanges with one backend share. */
export interface ExchangeServices {
  readonly server: GatewayServer;
  readonly addresses: Addresses;
  readonly sealer: Sealer;
  readonly credentials: CredentialSource;
  readonly slots: ServerSlots;
  /** Headers of every response, as a flat list. */
  readonly commonHeaders: readonly string[];
  /** The backend announced that its list of tools has changed. */
  readonly onToolsChanged: () => void;
}

/** The session of a request, opened. */
export interface OpenSession {
  readonly sealed: string;
  readonly id: string;
  readonly address: Address;
}

/** One outgoing request. */
export interface Sending {
  readonly request: GatewayRequest;
  readonly session: OpenSession | null;
  readonly message: SentMessage;
  readonly credential: BackendCredential;
  /** Releases the concurrency slot. */
  readonly release: () => void;
  readonly edit: BodyEdit;
  /** The requests that the response may answer, as far as they have arrived. */
  readonly expected: () => ExpectedResponses;
}

/** How an exchange ended, with its duration and size. */
export type ExchangeSummary = ExchangeEnd & { readonly backendMs: number; readonly responseBytes: number };

/** Sends a request to the address of its session, or to the first that is not down. Never rejects. */
export function exchange(services: ExchangeServices, sending: Sending): Promise<ExchangeSummary> {
  return new Promise((resolve) => new Exchange(services, sending, resolve).start());
}

/** The current exchange of a response. A property, so that all responses share their listeners: closures cost open streams memory. */
const EXCHANGE: unique symbol = Symbol('exchange');

interface ExchangedResponse extends ServerResponse {
  [EXCHANGE]?: Exchange | undefined;
}

function onClose(this: ExchangedResponse): void {
  this[EXCHANGE]?.report({ kind: 'closed' });
}

function onStreamShutdown(this: ExchangedResponse): void {
  this[EXCHANGE]?.shutDown();
}

class Exchange implements BackendRequestListener, EditedBodyListener, ByteSink {
  readonly #services: ExchangeServices;
  readonly #request: GatewayRequest;
  /** `null` also once an event stream is open, which would retain it for hours. */
  #session: OpenSession | null;
  readonly #edit: BodyEdit;
  readonly #expected: () => ExpectedResponses;
  /** The body, if it is still arriving. */
  readonly #upload: StreamedBody | null;
  readonly #resolve: (summary: ExchangeSummary) => void;
  #phase: ExchangePhase;
  #backendRequest: BackendRequest | null = null;
  /** Of a document where a stream was expected. */
  #documentTimer: NodeJS.Timeout | null = null;
  /** The first stage for the bytes of the response; the last one reports them. */
  #sink: ByteSink = NO_SINK;
  #release: () => void;
  #sentAt = 0;
  #responseBytes = 0;
  #isBetweenEvents = true;
  /** What the backend waits for: a client that has to read, and a message that is edited. */
  #pauses = 0;

  constructor(
    services: ExchangeServices,
    { request, session, message, credential, release, edit, expected }: Sending,
    resolve: (summary: ExchangeSummary) => void,
  ) {
    this.#services = services;
    this.#request = request;
    this.#session = session;
    this.#edit = edit;
    this.#expected = expected;
    this.#upload = message.body instanceof StreamedBody ? message.body : null;
    this.#resolve = resolve;
    this.#release = release;
    this.#phase = { kind: 'sending', message, credential, isRenewed: false, tried: [] };
  }

  start(): void {
    this.#sentAt = performance.now();
    const outgoing: ExchangedResponse = this.#request.outgoing;
    outgoing[EXCHANGE] = this;
    outgoing.on('close', onClose);
    // No `close` event follows if the client disappeared during the credential lookup.
    if (outgoing.destroyed) this.report({ kind: 'closed' });
    else this.#perform({ do: 'send' });
  }

  report(event: ExchangeEvent): void {
    const transition = nextExchange(this.#phase, event);
    this.#phase = transition[0];
    // By index: destructuring would allocate an iterator and a copy for each event.
    for (let at = 1; at < transition.length; at += 1) this.#perform(transition[at] as ExchangeEffect);
  }

  #perform(effect: ExchangeEffect): void {
    switch (effect.do) {
      case 'send':
        this.#send();
        break;
      case 'negotiate':
        void this.#negotiate(effect.credential, effect.head);
        break;
      case 'writeHead':
        this.#writeHead(effect.head, effect.isEdited, effect.length);
        break;
      case 'write':
        this.#write(effect.bytes);
        break;
      case 'pipe':
        this.#pipe(effect.isStream, effect.isEdited);
        break;
      case 'resume':
        this.#backendRequest?.resume();
        break;
      case 'drop':
        this.#backendRequest?.drop();
        break;
      case 'end':
        this.#end(effect.end);
        break;
    }
  }

  #send(): void {
    if (this.#phase.kind !== 'sending') return;
    const { message, credential, tried } = this.#phase;
    const { addresses, server } = this.#services;
    this.#sentAt = performance.now();
    const address = this.#choose(this.#sentAt, tried);
    if (address === null) {
      this.#fail(isDown(server, addresses.retryAfter(this.#sentAt)), 'unavailable');
      return;
    }
    const { incoming } = this.#request;
    const method = (incoming.method ?? 'GET') as Dispatcher.HttpMethod;
    const headers = withFields(message.headers, credential.headers);
    const backendRequest = new BackendRequest(address, isLasting(incoming), this);
    this.#backendRequest = backendRequest;
    if (credential.sign === null) backendRequest.dispatch(method, headers, message.body);
    else
      credential.sign(method, address.url.href).then(
        (signed) => backendRequest.dispatch(method, withFields(headers, signed), message.body),
        (error) => this.#fail(error, 'unavailable'),
      );
  }

  #choose(now: number, tried: readonly Address[]): Address | null {
    if (this.#session === null) return this.#services.addresses.choose(now, tried);
    const { address } = this.#session;
    return address.downUntil <= now ? address : null;
  }

  head(address: Address, head: ResponseHead): void {
    this.#services.addresses.succeeded(address, performance.now());
    this.report({ kind: 'head', head });
  }

  data(chunk: Buffer): void {
    this.#documentTimer?.refresh();
    this.#sink.write(chunk);
  }

  complete(): void {
    this.#sink.end();
  }

  lost(address: Address, error: Error): void {
    const { server, addresses } = this.#services;
    const code = connectionFailure(error);
    if (code === null) {
      const isLate = (error as { readonly code?: string }).code === 'UND_ERR_HEADERS_TIMEOUT';
      const reason = isLate ? 'does not respond' : 'cannot be reached';
      this.#fail(new OutcomeUnknown(`${server.name} ${reason}`), isLate ? 'timeout' : 'unavailable');
      return;
    }
    const now = performance.now();
    addresses.failed(address, now, code);
    const tried = this.#phase.kind === 'sending' ? [...this.#phase.tried, address] : [];
    const mayRepeat = this.#session === null && this.#upload?.canReopen !== false;
    const hasAlternative = mayRepeat && addresses.choose(now, tried) !== null;
    const failure = isDown(server, addresses.retryAfter(now));
    this.report({ kind: 'unreached', address, hasAlternative, error: failure });
  }

  /** The backend rejected the credential: it is renewed once, or the user has to connect an account. */
  async #negotiate(credential: BackendCredential, { status, headers }: ResponseHead): Promise<void> {
    const { credentials, server } = this.#services;
    const { principal } = this.#request;
    this.#backendRequest?.pause();
    try {
      const response = {
        url: this.#backendRequest?.address.url.href ?? '',
        status,
        headers: toHeaders(headers),
      };
      const outcome = await credentials.rejected(principal, server, response, credential);
      if (outcome === 'final') this.report({ kind: 'final' });
      else if (outcome !== 'retry') this.#fail(outcome, 'connection_required');
      else if (this.#upload?.canReopen === false) this.#fail(renewed(server), 'unavailable');
      else this.report({ kind: 'renewed', credential: await credentials.for(principal, server) });
    } catch (error) {
      this.#fail(error, 'unavailable');
    }
  }

  #writeHead({ status, headers }: ResponseHead, isEdited: boolean, length: number | null): void {
    const { outgoing } = this.#request;
    const isStream = isStreamType(contentTypeOf(headers));
    const fields = responseHeaders(headers, isStream || isEdited);
    for (const field of this.#services.commonHeaders) fields.push(field);
    if (length !== null) fields.push('content-length', String(length));
    // Reverse proxies would buffer events. @see MCP 2026-07-28, Streamable HTTP, receiving messages
    if (isStream) fields.push('x-accel-buffering', 'no');
    this.#addSession(headers['mcp-session-id'], fields);
    // A response has arrived: the body is not retried, and its rest not read.
    this.#upload?.keepNothing();
    if (this.#upload !== null) closeUnread(outgoing);
    if (isStream && isLasting(this.#request.incoming)) releaseParser(outgoing);
    outgoing.writeHead(status, fields);
    if (isStream) outgoing.flushHeaders();
  }

  #addSession(id: string | string[] | undefined, fields: string[]): void {
    if (id === undefined || Array.isArray(id)) return;
    const { sealer } = this.#services;
    // Backends repeat the id in each response; clients retain the first one.
    const sealed =
      this.#session?.id === id
        ? this.#session.sealed
        : sealer.seal('session', this.#request.owner, `${this.#backendRequest?.address.tag ?? ''}${id}`);
    fields.push('mcp-session-id', sealed);
  }

  #pipe(isStream: boolean, isEdited: boolean): void {
    const { name, limits } = this.#services.server;
    const [edit, expected] = [this.#edit, this.#expected];
    this.#sink = isEdited
      ? new EditedBody({ name, isStream, limit: limits.frame, edit, expected, listener: this })
      : this;
    if (!isStream) {
      if (isLasting(this.#request.incoming)) this.#limitDocument();
      return;
    }
    this.#takeStreamSlot();
    onShutdown(this.#request.outgoing, onStreamShutdown);
    this.#session = null;
  }

  /** The bytes of a response that is not edited. */
  write(bytes: Buffer): void {
    this.report({ kind: 'bytes', bytes, length: null });
  }

  end(): void {
    this.report({ kind: 'ended' });
  }

  /** The backend has begun a document instead of a stream: it was sent without a timeout of its body. */
  #limitDocument(): void {
    const { server } = this.#services;
    const fail = () => this.#fail(new OutcomeUnknown(`${server.name} does not respond`), 'timeout');
    const timer = setTimeout(fail, server.limits.idle * 1000);
    this.#documentTimer = timer;
    this.#request.outgoing.once('close', () => clearTimeout(timer));
  }

  sealEventId(id: string): string {
    return this.#services.sealer.seal('event', this.#request.owner, joinEventId(this.#expected(), id));
  }

  pause(): void {
    this.#pauses += 1;
    if (this.#pauses === 1) this.#backendRequest?.pause();
  }

  resume(): void {
    this.#pauses -= 1;
    if (this.#pauses === 0) this.#backendRequest?.resume();
  }

  toolsChanged(): void {
    this.#services.onToolsChanged();
  }

  /** An open stream counts against its user's streams, not against concurrent requests. */
  #takeStreamSlot(): void {
    const { owner, incoming } = this.#request;
    if (isLasting(incoming)) return;
    const release = this.#services.slots.streams.take(userKey(owner));
    // A call whose response is a stream is not refused: the backend has executed it.
    if (release === null) return;
    this.#release();
    this.#release = release;
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#responseBytes += bytes.length;
    this.#isBetweenEvents = bytes.length > 1 && bytes.at(-1) === NEWLINE && bytes.at(-2) === NEWLINE;
    const { outgoing } = this.#request;
    // Several events of one chunk may be written while the client has to read.
    const isFull = outgoing.writableNeedDrain;
    if (!outgoing.write(bytes) && !isFull) this.#waitForClient();
  }

  /** The rest of an event that has begun is missing: an error behind it could not be read. */
  shutDown(): void {
    if (!this.#isBetweenEvents || this.#phase.kind !== 'streaming') return;
    endStreamAtShutdown(this.#request.outgoing, this.#expected().ids);
  }

  /** A client that reads nothing for too long loses its response. */
  #waitForClient(): void {
    const { outgoing } = this.#request;
    this.pause();
    const timer = setTimeout(() => outgoing.destroy(), this.#services.server.limits.idle * 1000);
    const stop = () => clearTimeout(timer);
    outgoing.once('close', stop);
    outgoing.once('drain', () => {
      stop();
      outgoing.off('close', stop);
      this.resume();
    });
  }

  #fail(error: unknown, outcome: (ExchangeEvent & { kind: 'failed' })['outcome']): void {
    this.report({ kind: 'failed', error, outcome });
  }

  #end(end: ExchangeEnd): void {
    const outgoing: ExchangedResponse = this.#request.outgoing;
    this.#release();
    const backendMs = performance.now() - this.#sentAt;
    this.#resolve({ ...end, backendMs, responseBytes: this.#responseBytes });
    if (end.kind === 'answered') outgoing.end();
    // Another exchange may follow.
    else {
      outgoing.off('close', onClose);
      outgoing[EXCHANGE] = undefined;
    }
  }
}

const NEWLINE = 0x0a;

/** Of a request that has no response yet. */
const NO_SINK: ByteSink = { write: () => undefined, end: () => undefined };

function renewed({ name }: GatewayServer): GatewayError {
  return unavailable(`The credential of ${name} had expired and was renewed. Send the request again.`, 1);
}

function isDown({ name }: GatewayServer, retryAfter: number): GatewayError {
  return unavailable(`${name} cannot be reached at the moment. Try again later.`, retryAfter);
}

function toHeaders(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  }
  return headers;
}
