/** Serves clients of the revisions with sessions (2025-03-26 to 2025-11-25) over Streamable HTTP. */
import { randomUUID } from 'node:crypto';
import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  type Message,
  type RequestMessage,
} from '@portcullis/http';
import { MAX_INITIALIZE } from '../../limits.ts';
import { type GatewayError, invalidRequest } from '../../messages/gateway-error.ts';
import type { MessageEdit } from '../../messages/message-edit.ts';
import type { GatewayRequest } from '../../servers/request.ts';
import type { Sealer } from '../../sessions/sealer.ts';
import type { InitializeParams } from '../backend.ts';
import { FIRST_WITH_PRIMED_STREAMS, LAST_WITH_SESSIONS, WITH_SESSIONS } from '../revisions.ts';
import { type ClientStream, namesResponse, type StreamEvents } from './events.ts';
import { isOver, type LiveSession } from './live-session.ts';
import { createReply, endWithError, filterReply, type Reply } from './reply.ts';
import { servePost } from './session-requests.ts';
import { createSessionTable, type OpenBackend, type SessionTable } from './session-table.ts';
import { refuseServerRequest } from './waiting-calls.ts';

/** The messages of one POST. */
export interface ClientPost {
  readonly request: GatewayRequest;
  /** At least one. */
  readonly messages: readonly Message[];
  readonly isBatch: boolean;
  readonly edit: MessageEdit;
}

export type SessionClients = ReturnType<typeof createSessionClients>;

export function createSessionClients(sealer: Sealer, open: OpenBackend) {
  const table = createSessionTable(sealer, open);
  return {
    async post({ request, messages, isBatch, edit }: ClientPost): Promise<void> {
      const [first] = messages;
      if (messages.length === 1 && first !== undefined && isRequest(first) && first.method === 'initialize')
        return initialize(table, request, first, edit);
      const session = table.find(request);
      const stream: ClientStream = { isStandalone: false };
      const reply = replyOf(request, session, stream, edit);
      await servePost({ request, session, reply, stream, edit }, messages, isBatch);
    },
    async get(request: GatewayRequest, edit: MessageEdit): Promise<void> {
      const session = table.find(request);
      const lastId = String(request.incoming.headers['last-event-id'] ?? '');
      const missed = session.events.after(lastId);
      // A stream that ends once more would be resumed for ever.
      const goesOn = missed !== null && (missed.messages.length > 0 || !isOver(session, missed.stream));
      if (goesOn) return follow(replyOf(request, session, missed.stream, edit), request, session, missed);
      if (missed !== null || namesResponse(lastId)) throw streamHasEnded();
      // An event that is no longer retained: the client gets what follows.
      const stream: ClientStream = { isStandalone: true };
      follow(replyOf(request, session, stream, edit), request, session, { stream, messages: [] });
      // Notifications reach the stream only while there is a session at the backend.
      await session.connect().catch(() => undefined);
    },
    async delete(request: GatewayRequest): Promise<void> {
      const session = table.find(request);
      table.delete(session);
      createReply(request.outgoing).end(null);
    },
    close: table.close,
  };
}

function replyOf(
  { outgoing }: GatewayRequest,
  session: LiveSession,
  stream: ClientStream,
  edit: MessageEdit,
): Reply {
  const names = {
    of: (message: Message | null) => session.events.add(stream, message),
    isPrimed: session.initialize.protocolVersion >= FIRST_WITH_PRIMED_STREAMS,
  };
  const reply = createReply(outgoing, names, edit.seal);
  return filterReply(reply, (message) => edit.mayReport(message) || refuseUnreported(session, message));
}

/** Sends the messages that the client has missed, and continues their stream. */
function follow(
  reply: Reply,
  { outgoing }: GatewayRequest,
  session: LiveSession,
  { stream, messages }: StreamEvents,
): void {
  reply.open();
  for (const message of messages) reply.send(message);
  // The missed messages included the response, or the request was cancelled.
  if (isOver(session, stream)) reply.end(null);
  else outgoing.once('close', session.attach(stream, reply));
}

/** The error for a response that is not resumed. @see MCP 2025-11-25, Streamable HTTP: an event stream, or else 405; 404 would end the session */
function streamHasEnded(): GatewayError {
  const text = 'This stream has ended, or its messages are no longer buffered here.';
  return invalidRequest(405, text, ['allow', 'POST, GET, DELETE']);
}

/** The backend must not wait for the response to a request that its client does not receive. @returns `false` */
function refuseUnreported(session: LiveSession, message: Message): false {
  if (isRequest(message))
    void session.connect().then(
      (connection) => refuseServerRequest(connection, message.id),
      () => undefined,
    );
  return false;
}

async function initialize(
  table: SessionTable,
  request: GatewayRequest,
  message: RequestMessage,
  edit: MessageEdit,
): Promise<void> {
  const reply = createReply(request.outgoing);
  const params = readInitialize(message);
  if (params === null) {
    const text = 'The parameters of initialize are incomplete or too long.';
    return reply.end(errorResponse(message.id, errorCodes.invalidParams, text), 400);
  }
  const session = table.open(request, randomUUID(), params);
  try {
    const { initialized } = await session.connect();
    const headers = { 'mcp-session-id': table.seal(request, session) };
    const response = await edit.filter<Message>({ jsonrpc: '2.0', id: message.id, result: initialized });
    reply.end(response, 200, headers);
  } catch (error) {
    table.end(session);
    endWithError(reply, message.id, error);
  }
}

function readInitialize(message: Message): InitializeParams | null {
  const { params } = message;
  if (!isMembers(params)) return null;
  const { protocolVersion, capabilities = {}, clientInfo = {} } = params;
  if (typeof protocolVersion !== 'string' || !isMembers(capabilities) || !isMembers(clientInfo)) return null;
  // The response to an unknown revision names the newest that is known. @see MCP lifecycle, version negotiation
  const version = WITH_SESSIONS.has(protocolVersion) ? protocolVersion : LAST_WITH_SESSIONS;
  const read = { protocolVersion: version, capabilities, clientInfo };
  return JSON.stringify(read).length > MAX_INITIALIZE ? null : read;
}
