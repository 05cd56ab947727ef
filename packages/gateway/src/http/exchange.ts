/** One request to an HTTP backend and its response, streamed to the client. */
import type { IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import type { Address, Addresses } from '../addresses/addresses.ts';
import { connectionFailure } from '../addresses/connection-failure.ts';
import type { CallOutcome } from '../audit/call-record.ts';
import type { BackendCredential, CredentialSource } from '../credentials/credential-source.ts';
import type { Gauge } from '../limits/gauge.ts';
import { userKey } from '../servers/owner.ts';
import type { GatewayRequest } from '../servers/request.ts';
import type { GatewayServer, HttpBackendDefinition } from '../servers/server.ts';
import type { Sealer } from '../sessions/sealer.ts';
import {
  createEditedBody,
  type EditedBody,
  type EditedOutput,
  type MessageEdit,
  MessageTooLong,
} from './edited-body.ts';
import { badGateway, closeUnread, type GatewayError, unavailable } from './error-response.ts';
import { createEventIdRewriter, type EventIdRewriter } from './event-ids.ts';
import { contentTypeOf, isCompressed, isStreamType, responseHeaders } from './headers.ts';
import { StreamedBody } from './streamed-body.ts';

/** What the exchanges with one backend share. */
export interface ExchangeServices {
  readonly server: GatewayServer;
  readonly definition: HttpBackendDefinition;
  readonly addresses: Addresses;
  readonly sealer: Sealer;
  readonly credentials: CredentialSource;
  readonly streams: Gauge;
  /** Headers of every response, as a flat list. */
  readonly commonHeaders: readonly string[];
  /** The backend announced that its list of tools has changed. */
  readonly onToolsChanged: (server: GatewayServer) => void;
}

/** The session of a request, opened. */
export interface OpenSession {
  readonly sealed: string;
  readonly id: string;
  readonly address: Address;
}

/** What is sent, and who wants to know how it went. */
export interface Sending {
  readonly request: GatewayRequest;
  readonly session: OpenSession | null;
  readonly body: Buffer | StreamedBody | null;
  readonly headers: readonly string[];
  readonly credential: BackendCredential;
  /** Gives back the place among the requests at once. */
  readonly release: () => void;
  /** Sends an error response. */
  readonly fail: (error: unknown) => void;
  readonly done: (summary: ExchangeSummary) => void;
  readonly edit: MessageEdit;
  /** Answers the client when the backend refuses the message itself; without it, that response passes. */
  readonly refused?: () => void;
}

export interface ExchangeSummary {
  readonly outcome: CallOutcome;
  readonly backendMs: number;
  readonly responseBytes: number;
}

const TOOLS_CHANGED = Buffer.from('notifications/tools/list_changed');
const NO_BYTES: Buffer = Buffer.alloc(0);
const LINE_FEED = 0x0a;

class ClientGone extends Error {
  override readonly name: string = 'ClientGone';
}

/** Sends a request to the address of its session, or to the first that is not down. */
export function exchange(services: ExchangeServices, sending: Sending): void {
  new Exchange(services, sending).send();
}

/** Also the handler of the connection to the backend. */
class Exchange implements Dispatcher.DispatchHandler, EditedOutput {
  readonly #services: ExchangeServices;
  #sending: Sending;
  /** The body, while it arrives. */
  readonly #upload: StreamedBody | null;
  /** Addresses that could not be reached. */
  #tried: Set<Address> | null = null;
  #address: Address | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #release: () => void;
  #rewriter: EventIdRewriter | null = null;
  #edited: EditedBody | null = null;
  /** Of the stream, fewer than the notification has. */
  #lastBytes: Buffer = NO_BYTES;
  #sentAt = 0;
  #responseBytes = 0;
  #isRetry = false;
  /** Whether the client has to read before more is sent. */
  #isWaiting = false;
  /** Whether nothing more happens. */
  #isOver = false;
  /** Whether the response in progress is not for the client. */
  #isIgnored = false;
  /** Begins a response that becomes an error if it cannot be edited; `null`: it has begun. */
  #writeHead: (() => void) | null = null;

  constructor(services: ExchangeServices, sending: Sending) {
    this.#services = services;
    this.#sending = sending;
    this.#release = sending.release;
    sending.request.outgoing.on('close', this.#onClientClose);
    this.#upload = sending.body instanceof StreamedBody ? sending.body : null;
    this.#upload?.onCancel(this.#onClientClose);
  }

  send(): void {
    const { addresses, server } = this.#services;
    const { headers, body, request, credential } = this.#sending;
    this.#sentAt = performance.now();
    const address = this.#choose(this.#sentAt);
    if (address === null) {
      this.#fail(isDown(server, addresses.retryAfter(this.#sentAt)), 'unavailable');
      return;
    }
    this.#address = address;
    const method = (request.incoming.method ?? 'GET') as Dispatcher.HttpMethod;
    const dispatch = (fields: string[]) =>
      void address.pool.dispatch(
        {
          ...{ path: address.target, method, headers: fields },
          body: body instanceof StreamedBody ? body.open() : body,
          ...(method === 'GET' && { bodyTimeout: 0 }),
        },
        this,
      );
    if (credential.sign === null) {
      dispatch(headers as string[]);
      return;
    }
    credential.sign(method, address.url.href).then(
      (signed) =>
        dispatch([...withoutFields(headers, Object.keys(signed)), ...Object.entries(signed).flat()]),
      (error) => this.#fail(error, 'unavailable'),
    );
  }

  #choose(now: number): Address | null {
    const { addresses } = this.#services;
    const { session } = this.#sending;
    if (session === null) return addresses.choose(now, this.#tried);
    return session.address.downUntil <= now ? session.address : null;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isIgnored = false;
    if (this.#isOver) controller.abort(new ClientGone());
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    // Not read here, and a stream would keep them, with the bytes of the head.
    controller.rawHeaders = null;
    if (this.#address !== null) this.#services.addresses.succeeded(this.#address, performance.now());
    const { key } = this.#sending.credential;
    if ((status === 401 || status === 403) && key !== '') {
      controller.pause();
      void this.#negotiate(controller, status, headers);
    } else if (this.#sending.refused !== undefined && REFUSALS.has(status)) {
      this.#leave(this.#sending.refused);
    } else if (status === 401 || (status >= 300 && status < 400 && status !== 304)) {
      this.#refuse(status);
    } else if (isCompressed(headers)) {
      this.#abandon(compressed(this.#services.server), 'error');
    } else this.#respond(status, headers);
  }

  /** Another path answers the client. */
  #leave(refused: () => void): void {
    this.#isIgnored = true;
    this.#isOver = true;
    this.#sending.request.outgoing.off('close', this.#onClientClose);
    this.#release();
    this.#controller?.abort(new ClientGone());
    refused();
  }

  /** The backend rejected the credential: it is renewed once, or the user has to connect an account. */
  async #negotiate(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): Promise<void> {
    const { credentials, server } = this.#services;
    const { request, credential } = this.#sending;
    try {
      const answer = { url: this.#address?.url.href ?? '', status, headers: toHeaders(headers) };
      const verdict = this.#isRetry
        ? 'final'
        : await credentials.rejected(request.principal, server, answer, credential);
      if (this.#isOver) return;
      if (verdict === 'retry' && this.#upload?.canReopen === false)
        return this.#abandon(renewed(server), 'unavailable');
      if (verdict === 'retry') return await this.#retry(controller);
      if (verdict !== 'final') return this.#abandon(verdict, 'connection_required');
      if (status === 401) return this.#refuse(status);
      this.#respond(status, headers);
      controller.resume();
    } catch (error) {
      this.#abandon(error, 'unavailable');
    }
  }

  async #retry(controller: Dispatcher.DispatchController): Promise<void> {
    const { credentials, server } = this.#services;
    const { request, headers, credential: old } = this.#sending;
    const credential = await credentials.for(request.principal, server);
    this.#isIgnored = true;
    controller.abort(new ClientGone());
    this.#isRetry = true;
    this.#tried = null;
    const kept = withoutFields(headers, Object.keys(old.headers));
    this.#sending = {
      ...this.#sending,
      credential,
      headers: [...kept, ...Object.entries(credential.headers).flat()],
    };
    this.send();
  }

  /** A redirect is not followed, and a challenge to the gateway is none of the client's. */
  #refuse(status: number): void {
    const { name } = this.#services.server;
    const reason =
      status === 401
        ? `${name} does not accept the credentials of this gateway: ask its operator.`
        : `${name} redirects (${status}), which is not followed: the operator has to configure its final URL.`;
    this.#abandon(badGateway(reason), 'error');
  }

  #respond(status: number, headers: IncomingHttpHeaders): void {
    const { outgoing } = this.#sending.request;
    const isStream = isStreamType(contentTypeOf(headers));
    if (isStream) this.#becomeStream();
    const fields = responseHeaders(headers, isStream);
    for (const field of this.#services.commonHeaders) fields.push(field);
    this.#addSession(headers['mcp-session-id'], fields);
    const { edit } = this.#sending;
    const isEdited = (isStream || edit.forDocuments) && status < 300;
    if (isEdited && (headers['content-encoding'] ?? 'identity') !== 'identity')
      this.#abandon(badGateway('The backend encodes a list, which was not asked for.'), 'error');
    if (this.#isIgnored) return;
    this.#upload?.keepNothing();
    // The rest of a body that has been answered already is not read.
    if (this.#upload !== null) closeUnread(outgoing);
    const writeHead = () =>
      void outgoing.writeHead(status, isEdited ? withoutFields(fields, ['content-length']) : fields);
    if (isEdited && !isStream) this.#writeHead = writeHead;
    else writeHead();
    if (isStream) outgoing.flushHeaders();
    if (isEdited) this.#startEditing(isStream, edit);
  }

  #startEditing(isStream: boolean, edit: MessageEdit): void {
    const { frame: limit } = this.#services.server.limits;
    this.#edited = createEditedBody({ isStream, limit, edit, output: this });
  }

  write(bytes: Buffer): void {
    this.#begin();
    this.#responseBytes += bytes.length;
    if (bytes.length > 0 && !this.#sending.request.outgoing.write(bytes) && this.#controller !== null)
      this.#waitForClient(this.#controller);
  }

  #begin(): void {
    this.#writeHead?.();
    this.#writeHead = null;
  }

  end(): void {
    this.#begin();
    this.#end('answered');
    this.#sending.request.outgoing.end();
  }

  fail(error: unknown): void {
    this.#abandon(
      isUnreadable(error) ? unreadable(this.#services.server, error) : error,
      error instanceof MessageTooLong ? 'too_long' : 'error',
    );
  }

  /** An open stream counts by its user, not among the requests at once. */
  #becomeStream(): void {
    const { sealer, streams } = this.#services;
    const { owner, incoming } = this.#sending.request;
    this.#rewriter = createEventIdRewriter((id) => sealer.seal('event', owner, id));
    // It is not sent again.
    this.#sending = { ...this.#sending, headers: [], body: null };
    if (incoming.method === 'GET') return;
    const release = streams.take(userKey(owner));
    // A call that is answered by a stream is not refused: it has been made.
    if (release === null) return;
    this.#release();
    this.#release = release;
  }

  #addSession(id: string | string[] | undefined, fields: string[]): void {
    if (id === undefined || Array.isArray(id)) return;
    const { session, request } = this.#sending;
    // Backends repeat the id in each response; the client keeps the one that it has.
    const sealed =
      session?.id === id
        ? session.sealed
        : this.#services.sealer.seal('session', request.owner, `${this.#address?.tag ?? ''}${id}`);
    fields.push('mcp-session-id', sealed);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isIgnored) return;
    if (this.#rewriter !== null && this.#announcesTools(chunk))
      this.#services.onToolsChanged(this.#services.server);
    const bytes = this.#rewriter === null ? chunk : this.#rewriter.push(chunk);
    if (bytes === null) return;
    if (this.#edited === null) this.write(bytes);
    else this.#edited.push(bytes);
  }

  /** Whether the notification ends in this chunk, which may hold only the rest of it. */
  #announcesTools(chunk: Buffer): boolean {
    const kept = this.#lastBytes;
    const most = TOOLS_CHANGED.length - 1;
    this.#lastBytes = NO_BYTES;
    const isDivided =
      kept.length > 0 && Buffer.concat([kept, chunk.subarray(0, most)]).includes(TOOLS_CHANGED);
    const end = chunk.length >= most ? chunk : Buffer.concat([kept, chunk]);
    // Mostly an event ends there.
    if (chunk.at(-1) !== LINE_FEED) this.#lastBytes = Buffer.from(end.subarray(-most));
    return isDivided || chunk.includes(TOOLS_CHANGED);
  }

  /** A client that reads nothing for too long loses its response. */
  #waitForClient(controller: Dispatcher.DispatchController): void {
    const { outgoing } = this.#sending.request;
    // Several events of one chunk may be written meanwhile.
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    controller.pause();
    const timer = setTimeout(() => outgoing.destroy(), this.#services.server.limits.idle * 1000);
    const stop = () => clearTimeout(timer);
    outgoing.once('close', stop);
    outgoing.once('drain', () => {
      this.#isWaiting = false;
      stop();
      outgoing.off('close', stop);
      controller.resume();
    });
  }

  onResponseEnd(): void {
    if (this.#isIgnored) return;
    if (this.#edited !== null) {
      this.#edited.end();
      return;
    }
    this.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isIgnored || this.#isOver) return;
    const { outgoing } = this.#sending.request;
    if (outgoing.headersSent) {
      this.#end('unavailable');
      outgoing.destroy();
      return;
    }
    const isUnsent = this.#noteFailure(error);
    // Only what has not been sent may be sent again.
    if (isUnsent && this.#hasAlternative()) {
      this.send();
      return;
    }
    const { server, addresses } = this.#services;
    const isLate = (error as { readonly code?: string }).code === 'UND_ERR_HEADERS_TIMEOUT';
    const retryAfter = isUnsent ? addresses.retryAfter(performance.now()) : 1;
    const reason = isLate ? 'does not respond' : 'cannot be reached';
    this.#fail(isDown(server, retryAfter, reason), isLate ? 'timeout' : 'unavailable');
  }

  #hasAlternative(): boolean {
    const { addresses } = this.#services;
    if (this.#sending.session !== null || this.#upload?.canReopen === false) return false;
    return addresses.choose(performance.now(), this.#tried) !== null;
  }

  /** @returns whether the request did not reach the backend */
  #noteFailure(error: Error): boolean {
    const code = connectionFailure(error);
    if (code === null || this.#address === null) return false;
    this.#services.addresses.failed(this.#address, performance.now(), code);
    this.#tried ??= new Set();
    this.#tried.add(this.#address);
    return true;
  }

  readonly #onClientClose = (): void => {
    if (this.#isOver) return;
    this.#end('cancelled');
    this.#controller?.abort(new ClientGone());
  };

  /** Fails, and reads no more of a response. */
  #abandon(error: unknown, outcome: CallOutcome): void {
    this.#isIgnored = true;
    this.#fail(error, outcome);
    this.#controller?.abort(new ClientGone());
  }

  #fail(error: unknown, outcome: CallOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sending.fail(error);
    this.#end(outcome);
  }

  #end(outcome: CallOutcome): void {
    this.#isOver = true;
    this.#sending.request.outgoing.off('close', this.#onClientClose);
    this.#release();
    const backendMs = performance.now() - this.#sentAt;
    this.#sending.done({ outcome, backendMs, responseBytes: this.#responseBytes });
  }
}

/** Statuses by which a backend refuses a message that it does not know. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 405, 406, 415, 422, 501]);

function compressed({ name }: GatewayServer): GatewayError {
  return badGateway(`${name} compresses its responses although it was not asked to: switch that off there.`);
}

function isUnreadable(error: unknown): error is Error {
  return error instanceof SyntaxError || error instanceof MessageTooLong;
}

function unreadable({ name }: GatewayServer, { message }: Error): GatewayError {
  return badGateway(`A response of ${name} cannot be filtered, and is not passed on: ${message}.`);
}

function renewed({ name }: GatewayServer): GatewayError {
  return unavailable(`The credential of ${name} had expired and was renewed. Send the request again.`, 1);
}

function isDown({ name }: GatewayServer, retryAfter: number, reason = 'cannot be reached'): GatewayError {
  return unavailable(`${name} ${reason} at the moment. Try again later.`, retryAfter);
}

function toHeaders(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  }
  return headers;
}

function withoutFields(fields: readonly string[], names: readonly string[]): string[] {
  const unwanted = names.map((name) => name.toLowerCase());
  return fields.filter((_, index) => !unwanted.includes((fields[index - (index % 2)] ?? '').toLowerCase()));
}
