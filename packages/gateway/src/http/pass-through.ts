/** The pass-through path: forwards requests to an HTTP backend that speaks the client's transport, and streams the responses back. */
import { isLasting } from '@portcullis/http/node';
import { createLruCache } from '@portcullis/protocol';
import type { Address, Addresses } from '../addresses/addresses.ts';
import { CACHEABLE } from '../backends/revisions.ts';
import type { BackendCredential } from '../credentials/credential-source.ts';
import { createGauge } from '../gauge.ts';
import { MAX_DELETED_SESSIONS, UPLOADS_OF_ALL, UPLOADS_OF_USER } from '../limits.ts';
import { type ExpectedResponses, LISTS, splitEventId } from '../messages/check-responses.ts';
import { sessionNotFound } from '../messages/gateway-error.ts';
import type { MessageEdit } from '../messages/message-edit.ts';
import type { ScannedBody } from '../messages/scanned-message.ts';
import { type GatewayRequest, userKey } from '../servers/request.ts';
import type { GatewayServer, HttpBackendDefinition } from '../servers/server.ts';
import { isNoServerRequest, isPlainNotification } from '../sessions/message-handles.ts';
import type { BodyEdit } from './edited-body.ts';
import { type ExchangeServices, type ExchangeSummary, exchange, type OpenSession } from './exchange.ts';
import { forwardedHeaders } from './headers.ts';
import { StreamedBody } from './streamed-body.ts';

export type PassThroughOptions = Omit<ExchangeServices, 'server' | 'addresses'>;

/** The request as forwarded to the backend. */
export interface Forwarding {
  readonly credential: BackendCredential;
  /** `null` for GET and DELETE. */
  readonly body: Buffer | StreamedBody | null;
  /** What is known of the body; `null` without one. */
  readonly scanned: ScannedBody | null;
  /** The value of the header `Mcp-Name`; `null`: there is none. */
  readonly name: string | null;
  /** The headers `Mcp-Param-*`: those that repeat arguments, as the body has them. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly edit: MessageEdit;
  /** The requests of the body, as far as they have arrived. */
  readonly expected: () => ExpectedResponses;
}

/** Whether the body names its revision, as requests of the stateless one do. */
export function namesVersion({ scanned }: Forwarding): boolean {
  return scanned?.messages.some(({ protocolVersion }) => protocolVersion !== null) === true;
}

export type PassThrough = ReturnType<typeof createPassThrough>;

/** Passes requests through to one HTTP backend. */
export function createPassThrough(
  server: GatewayServer,
  { forward }: HttpBackendDefinition,
  addresses: Addresses,
  options: PassThroughOptions,
) {
  const services: ExchangeServices = { ...options, server, addresses };
  const { slots } = options;
  /** Sessions whose deletion the backend has confirmed here, by the client's ID. Not all backends answer 404 then. */
  const deleted = createLruCache<true>({ entries: MAX_DELETED_SESSIONS });
  /** Requests whose body has not arrived. */
  const uploads = createGauge(() => Math.max(1, Math.floor(server.limits.concurrency * UPLOADS_OF_USER)));
  return {
    isUp: (): boolean => addresses.isUp(),
    close: (): Promise<void> => addresses.close(),
    /**
     * Opens the sealed IDs of a request.
     * @throws GatewayError 404 for a session or event of another user, client or server, before anything reaches the backend
     */
    checkHandles(request: GatewayRequest): void {
      const session = openSession(services, request);
      // @see MCP 2025-11-25, Streamable HTTP, session management: requests with a terminated session are 404
      if (session !== null && deleted.get(session.sealed) === true) throw sessionNotFound();
      openEventId(services, request);
    },
    /**
     * Whether a GET continues a stream that responds to requests, which were decided with them. Without a session it does not:
     * a backend that ignores `Last-Event-ID` opens a stream of messages of all its users. Call it after `checkHandles`.
     */
    resumesResponse: (request: GatewayRequest): boolean =>
      openSession(services, request) !== null && (openEventId(services, request)?.expected.ids.size ?? 0) > 0,
    /**
     * Acquires a slot for a request whose body is streamed while it arrives.
     * @returns a release function; `null`: the body has to be buffered
     */
    takeUpload({ owner }: GatewayRequest): (() => void) | null {
      const most = Math.max(1, server.limits.concurrency * UPLOADS_OF_ALL);
      return uploads.total < most ? uploads.take(userKey(owner)) : null;
    },
    /**
     * @param mayTranslate whether a backend that refuses the message itself (400, 404, 405, …) ends the exchange as `refused`, with
     * nothing sent to the client; otherwise that response is forwarded
     * @throws GatewayError when it cannot be sent now
     */
    forward(
      request: GatewayRequest,
      { credential, body, scanned, name, parameters = {}, edit, expected }: Forwarding,
      mayTranslate: boolean,
    ): Promise<ExchangeSummary> {
      const { incoming, outgoing, owner } = request;
      const session = openSession(services, request);
      const headers = forwardedHeaders(incoming.headers, forward);
      if (name !== null) headers.push('mcp-name', name);
      headers.push(...Object.entries(parameters).flat());
      if (session !== null) headers.push('mcp-session-id', session.id);
      const event = openEventId(services, request);
      if (event !== null) headers.push('last-event-id', event.id);
      if (body instanceof StreamedBody && body.length !== null)
        headers.push('content-length', String(body.length));
      const exchanged = exchange(services, {
        request,
        session,
        message: { name: server.name, headers, body, mayTranslate },
        credential,
        edit: bodyEditOf(edit, scanned, incoming.method),
        expected: event === null ? expected : () => event.expected,
        release: isLasting(incoming) ? slots.takeStream(owner) : slots.takeRequest(owner),
      });
      if (incoming.method !== 'DELETE' || session === null) return exchanged;
      return exchanged.then((end) => {
        const isDeleted = end.kind === 'answered' && outgoing.statusCode < 300;
        if (isDeleted) deleted.set(session.sealed, true);
        return end;
      });
    },
  };
}

/** A stream that GET opens may resume the response to a list. */
function bodyEditOf(edit: MessageEdit, scanned: ScannedBody | null, httpMethod = ''): BodyEdit {
  const methods = scanned?.messages.map(({ method }) => method) ?? [];
  const mayList = httpMethod === 'GET' || methods.some((method) => LISTS.has(method));
  return {
    apply: async (message) => (edit.mayReport(message) ? edit.seal(await edit.filter(message)) : null),
    mayPassLong: mayList ? isPlainNotification : isNoServerRequest,
    mayBeCached: methods.some((method) => CACHEABLE.has(method)),
  };
}

const TAG_LENGTH = 8;

function openSession(
  { sealer, addresses }: ExchangeServices,
  { incoming, owner }: GatewayRequest,
): OpenSession | null {
  const sealed = incoming.headers['mcp-session-id'];
  if (sealed === undefined) return null;
  const text = sealer.open('session', owner, String(sealed));
  const address: Address | null = text === null ? null : addresses.byTag(text.slice(0, TAG_LENGTH));
  if (text === null || address === null) throw sessionNotFound();
  return { sealed: String(sealed), id: text.slice(TAG_LENGTH), address };
}

/** An event id of another user gets the same error as an unknown session. */
function openEventId(
  { sealer }: ExchangeServices,
  { incoming, owner }: GatewayRequest,
): ReturnType<typeof splitEventId> | null {
  const sealed = incoming.headers['last-event-id'];
  if (sealed === undefined || sealed === '') return null;
  const id = sealer.open('event', owner, String(sealed));
  if (id === null) throw sessionNotFound();
  return splitEventId(id);
}
