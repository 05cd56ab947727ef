/** Serves clients of the revisions with sessions (2025-03-26 to 2025-11-25) by streamable HTTP. */
import { randomUUID } from 'node:crypto';
import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  isResponse,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
} from '@portcullis/http';
import { ConnectionRequired, URL_ELICITATION_REQUIRED } from '../../credentials/credential-source.ts';
import { userKey } from '../../servers/owner.ts';
import type { GatewayRequest } from '../../servers/request.ts';
import { createMessageHandles } from '../../sessions/message-handles.ts';
import type { Sealer } from '../../sessions/sealer.ts';
import { BackendError, type BackendSession, type InitializeParams } from '../backend.ts';
import { LAST_WITH_SESSIONS, WITH_SESSIONS } from '../revisions.ts';
import { createLiveSession, type LiveSession } from './live-session.ts';
import { createReply, endWithError, type Reply } from './reply.ts';

export interface ClientsOptions {
  readonly sealer: Sealer;
  readonly open: (request: GatewayRequest, initialize: InitializeParams) => Promise<BackendSession>;
  readonly edit: (response: Message, method: string, request: GatewayRequest) => Promise<Message> | Message;
}

export interface WireClients {
  post(request: GatewayRequest, messages: readonly Message[]): Promise<void>;
  get(request: GatewayRequest): Promise<void>;
  delete(request: GatewayRequest): Promise<void>;
  close(): Promise<void>;
}

/** Sessions that this process keeps; any process opens one again. */
const MAX_SESSIONS = 10_000;
/** Of one user, with all clients. */
const MAX_PER_USER = 100;
/** Milliseconds without a request after which a session is only kept by its client. */
const IDLE = 30 * 60_000;
/** Milliseconds for a client to resume the response to a request whose connection broke. */
const RESUME_GRACE = 10_000;
/** Characters of the parameters of `initialize`, which travel in the session id. */
const MAX_INITIALIZE = 4000;
/** Sessions whose end is remembered. */
const MAX_ENDED = 10_000;

export function createSessionClients({ sealer, open, edit }: ClientsOptions): WireClients {
  const live = new Map<string, LiveSession>();
  const ended = new Set<string>();
  const sweep = setInterval(() => {
    for (const session of live.values())
      if (!session.isBusy() && performance.now() - session.usedAt > IDLE) end(session);
  }, 60_000).unref();

  return {
    async post(request, messages) {
      const [first] = messages;
      if (messages.length === 1 && first !== undefined && isRequest(first) && first.method === 'initialize')
        return initialize(request, first);
      const session = find(request);
      if (session !== null) await serve(request, session, messages);
    },
    async get(request) {
      const session = find(request);
      if (session === null) return;
      const lastId = request.incoming.headers['last-event-id'];
      if (typeof lastId === 'string') return resume(request, session, lastId);
      follow(request, session, session.nextStream(), []);
      // What the backend reports reaches the stream only while there is a session at the backend.
      await session.connect().catch(() => undefined);
    },
    async delete(request) {
      const session = find(request);
      if (session === null) return;
      if (ended.size >= MAX_ENDED) ended.clear();
      ended.add(session.id);
      end(session);
      createReply(request.outgoing).end(null, 200);
    },
    async close() {
      clearInterval(sweep);
      await Promise.all([...live.values()].map((session) => session.close()));
    },
  };

  async function initialize(request: GatewayRequest, message: RequestMessage): Promise<void> {
    const reply = createReply(request.outgoing);
    const params = readInitialize(message);
    if (params === null)
      return reply.end(
        errorResponse(
          message.id,
          errorCodes.invalidParams,
          'The parameters of initialize are incomplete or too long.',
        ),
        400,
      );
    const session = keep(request, randomUUID(), params);
    try {
      const { initialized } = await session.connect();
      const id = sealer.seal('session', request.owner, JSON.stringify([session.id, params]));
      reply.end({ jsonrpc: '2.0', id: message.id, result: initialized }, 200, { 'mcp-session-id': id });
    } catch (error) {
      end(session);
      endWithError(reply, message.id, error);
    }
  }

  /** The session of a request; `null` after it was refused. */
  function find(request: GatewayRequest): LiveSession | null {
    const { incoming, owner } = request;
    const version = incoming.headers['mcp-protocol-version'];
    if (typeof version === 'string' && !WITH_SESSIONS.has(version))
      return refuse(
        request,
        400,
        `The revision ${JSON.stringify(version)} is not supported here; supported: ${[...WITH_SESSIONS].join(', ')}.`,
      );
    const sealed = incoming.headers['mcp-session-id'];
    if (typeof sealed !== 'string') return refuse(request, 400, 'The header Mcp-Session-Id is missing.');
    const opened = sealer.open('session', owner, sealed);
    const [id, params] = opened === null ? [] : (JSON.parse(opened) as [string, InitializeParams]);
    if (id === undefined || params === undefined || ended.has(id))
      return refuse(
        request,
        404,
        'There is no such session. Initialize another one.',
        errorCodes.sessionNotFound,
      );
    const session = findLive(request, id) ?? keep(request, id, params);
    session.usedAt = performance.now();
    return session;
  }

  /** One that was opened for an earlier grant of the same user and client would go on with its credentials: it is opened again. */
  function findLive({ principal }: GatewayRequest, id: string): LiveSession | undefined {
    const found = live.get(id);
    if (found === undefined || found.grantId === principal.grantId || found.requests.size > 0) return found;
    end(found);
    return undefined;
  }

  function keep(request: GatewayRequest, id: string, params: InitializeParams): LiveSession {
    const user = userKey(request.owner);
    evictIdle(
      [...live.values()].filter((one) => one.user === user),
      MAX_PER_USER,
    );
    evictIdle([...live.values()], MAX_SESSIONS);
    const session = createLiveSession(
      { id, user, grantId: request.principal.grantId, initialize: params },
      () => open(request, params),
    );
    live.set(id, session);
    return session;
  }

  /** Makes place for one more: of a user's own first, so that no user ends the sessions of all others. */
  function evictIdle(among: readonly LiveSession[], limit: number): void {
    if (among.length < limit) return;
    const idle = among.find((session) => !session.isBusy());
    if (idle === undefined) throw new BackendError('overloaded', 'There are too many open sessions.');
    end(idle);
  }

  function end(session: LiveSession): void {
    live.delete(session.id);
    void session.close();
  }

  async function serve(
    request: GatewayRequest,
    session: LiveSession,
    messages: readonly Message[],
  ): Promise<void> {
    const requests = messages.filter(isRequest);
    const rest = messages.filter((message) => !isRequest(message));
    const stream = session.nextStream();
    const reply = replyOf(request, session, stream);
    try {
      for (const message of rest) await pass(session, message);
    } catch (error) {
      return endWithError(reply, null, error);
    }
    if (requests.length === 0) return reply.end(null, 202);
    if (requests.length > 1) reply.open();
    const [only] = requests;
    if (requests.length === 1 && only !== undefined)
      return exchange(request, session, only, reply, stream, true);
    await Promise.all(requests.map((message) => exchange(request, session, message, reply, stream, false)));
    reply.end(null);
  }

  async function pass(session: LiveSession, message: Message): Promise<void> {
    if (message.method === 'notifications/cancelled') {
      const id = parameter(message, 'requestId');
      return session.requests.get(id as MessageId)?.abort();
    }
    // A response to a request that another process, or an ended session, has sent.
    if (isResponse(message) || message.method !== 'notifications/initialized')
      await (await session.connect()).notify(message);
  }

  async function exchange(
    request: GatewayRequest,
    session: LiveSession,
    message: RequestMessage,
    reply: Reply,
    stream: number,
    isLast: boolean,
  ): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    session.requests.set(message.id, controller);
    session.responding.add(stream);
    const current = (): Reply => session.resumed.get(stream) ?? reply;
    const stop = onDisappeared(request, reply, () => !session.resumed.has(stream) && controller.abort());
    const finish = (response: Message): void => {
      if (isLast) current().end(response);
      else current().send(response);
    };
    try {
      const connection = await session.connect();
      const response = await connection.request(message, {
        signal,
        receive: (received) => current().send(received),
      });
      finish(await edit(response, message.method, request));
    } catch (error) {
      // A cancelled request gets no response.
      if (signal.aborted) current().end(null, 202);
      else if (isLast && !(error instanceof ConnectionRequired && current().isStream()))
        endWithError(current(), message.id, error);
      else finish(failureOf(message, error));
    } finally {
      stop();
      session.requests.delete(message.id);
      session.responding.delete(stream);
      session.resumed.delete(stream);
    }
  }

  function replyOf({ outgoing, owner }: GatewayRequest, { events }: LiveSession, stream: number): Reply {
    const handles = createMessageHandles(sealer, owner);
    return createReply(
      outgoing,
      (message) => events.add(stream, message),
      (message) => handles.seal(message),
    );
  }

  /** The stream of a response that broke goes on with what the client has missed. */
  function resume(request: GatewayRequest, session: LiveSession, lastId: string): void {
    const missed = session.events.after(lastId);
    if (missed === null)
      return void refuse(request, 404, 'The event of Last-Event-ID is not kept here any more.');
    follow(request, session, missed.stream, missed.messages);
  }

  function follow(
    request: GatewayRequest,
    session: LiveSession,
    stream: number,
    missed: readonly Message[],
  ): void {
    const reply = replyOf(request, session, stream);
    reply.open();
    for (const message of missed) reply.send(message);
    // The response was among them.
    if (missed.some(isResponse)) return void reply.end(null);
    if (!session.responding.has(stream)) return void request.outgoing.once('close', session.attach(reply));
    session.resumed.set(stream, reply);
    request.outgoing.once('close', () => {
      if (session.resumed.get(stream) === reply) session.resumed.delete(stream);
    });
  }
}

/** The response to a request of several, or on a stream. */
function failureOf({ id }: RequestMessage, error: unknown): Message {
  if (error instanceof ConnectionRequired)
    return errorResponse(id, URL_ELICITATION_REQUIRED, error.message, error.elicitations());
  return errorResponse(id, errorCodes.unavailable, error instanceof Error ? error.message : '');
}

/** Calls back when the client has disappeared: at once, or after the time that it has to resume an event stream. */
function onDisappeared({ outgoing }: GatewayRequest, reply: Reply, callback: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const listener = (): void => {
    if (outgoing.writableFinished) return;
    if (reply.isStream()) timer = setTimeout(callback, RESUME_GRACE).unref();
    else callback();
  };
  outgoing.once('close', listener);
  return () => {
    clearTimeout(timer);
    outgoing.removeListener('close', listener);
  };
}

function refuse(
  request: GatewayRequest,
  status: number,
  text: string,
  code: number = errorCodes.unavailable,
): null {
  createReply(request.outgoing).end(errorResponse(null, code, text), status);
  return null;
}

function readInitialize(message: Message): InitializeParams | null {
  const { params } = message;
  if (!isMembers(params)) return null;
  const { protocolVersion, capabilities = {}, clientInfo = {} } = params;
  if (typeof protocolVersion !== 'string' || !isMembers(capabilities) || !isMembers(clientInfo)) return null;
  // An unknown revision is answered with the newest that is known. @see MCP lifecycle, version negotiation
  const version = WITH_SESSIONS.has(protocolVersion) ? protocolVersion : LAST_WITH_SESSIONS;
  const read = { protocolVersion: version, capabilities, clientInfo };
  return JSON.stringify(read).length > MAX_INITIALIZE ? null : read;
}
