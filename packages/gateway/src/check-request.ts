/** What is checked of a request besides the rules of its server: its head, and the methods and fields of its messages. */
import type { IncomingHttpHeaders } from 'node:http';
import { notInStateless, REMOVED, STATELESS } from './backends/revisions.ts';
import {
  checkHeaderAgreement,
  checkProtocolVersion,
  checkRequestFields,
  isCompressed,
  isPlainJson,
  removeConnectionOptions,
} from './http/headers.ts';
import { type GatewayError, invalidRequest } from './messages/gateway-error.ts';
import { MessageError } from './messages/message-error.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import { PolicyError } from './policy/check-messages.ts';
import { STREAM } from './policy/streams.ts';
import type { ServedServer } from './served-server.ts';
import type { GatewayRequest } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';
import { isTaskMethod, type MessageHandles } from './sessions/message-handles.ts';

const METHODS: readonly (string | undefined)[] = ['POST', 'GET', 'DELETE'];

/** Checks all but the body, and removes the headers that nothing may read. @throws GatewayError */
export function checkHead(served: ServedServer, request: GatewayRequest): void {
  const { method, headers } = request.incoming;
  removeConnectionOptions(headers);
  if (!METHODS.includes(method))
    throw invalidRequest(405, 'This server supports POST, GET and DELETE.', ['allow', 'POST, GET, DELETE']);
  if (headers['mcp-protocol-version'] === STATELESS) {
    if (method !== 'POST')
      throw invalidRequest(405, `Revision ${STATELESS} uses POST only.`, ['allow', 'POST']);
    ignoreSession(headers);
  }
  served.path.checkHandles(request);
  if (method === 'DELETE') checkNamesSession(headers);
  if (isListening(served, request)) checkStream(served, request);
  if (method === 'POST' && !isPlainJson(headers)) throw unsupportedType(headers);
}

/** Nothing reads them from here on. @see MCP 2026-07-28, Streamable HTTP, earlier revisions: "ignore it" */
function ignoreSession(headers: IncomingHttpHeaders): void {
  for (const name of ['mcp-session-id', 'last-event-id']) if (name in headers) delete headers[name];
}

/** Without a session, there is nothing to delete. @throws GatewayError 405 */
function checkNamesSession(headers: IncomingHttpHeaders): void {
  if (headers['mcp-session-id'] === undefined)
    throw invalidRequest(405, 'DELETE ends a session: send its Mcp-Session-Id.', ['allow', 'POST, GET']);
}

/** Whether it opens or resumes a stream of messages that belong to no request. */
export function isListening({ path }: ServedServer, request: GatewayRequest): boolean {
  return request.incoming.method === 'GET' && !path.resumesResponse(request);
}

/**
 * A backend without sessions sends to every stream what concerns one of its users. Clients do without a stream after 405, where a
 * challenge would begin a sign-in.
 * @throws MessageError 405 for a caller whom no token, or no scope, would help
 * @see MCP 2025-11-25, Streamable HTTP, listening for messages from the server
 */
function checkStream({ control }: ServedServer, request: GatewayRequest): void {
  try {
    control.checkRules(request, STREAM);
  } catch (error) {
    if (!(error instanceof MessageError || error instanceof PolicyError)) throw error;
    const { because } = error;
    const headers = ['allow', 'POST, DELETE'];
    const text = 'This server opens no stream for you. Send requests by POST.';
    throw new MessageError('invalidRequest', text, { status: 405, decision: 'denied', because, headers });
  }
}

/** @see RFC 9110 §12.5.3: only an unsupported content coding is responded to with `Accept-Encoding` */
function unsupportedType(headers: IncomingHttpHeaders): GatewayError {
  const text = 'Send the body as application/json in UTF-8, not compressed.';
  return invalidRequest(415, text, isCompressed(headers) ? ['accept-encoding', 'identity'] : []);
}

/**
 * Checks the messages of a body against its headers, and against their revision.
 * @param isWhole whether nothing more of the body arrives
 * @throws MessageError
 */
export function checkFields(
  served: ServedServer,
  { incoming: { headers } }: GatewayRequest,
  scanned: ScannedBody,
  identifiers: MessageHandles,
  isWhole: boolean,
): void {
  checkHeaderAgreement(scanned, headers);
  checkProtocolVersion(scanned, headers);
  if (isWhole) checkRequestFields(scanned, headers);
  refuseMethods(served, scanned, identifiers);
}

/** @throws MessageError for a method that the revision of a request, or the server, does not have */
function refuseMethods(
  { server, path }: ServedServer,
  { messages }: ScannedBody,
  identifiers: MessageHandles,
): void {
  for (const message of messages) {
    const { method, protocolVersion, id } = message;
    if (protocolVersion !== STATELESS) refuseTaskList(server, method, id);
    else if (
      REMOVED.has(method) ||
      (isTaskMethod(method) && !path.offersTasks() && !identifiers.knowsTask(message))
    )
      throw new MessageError('methodNotFound', notInStateless(method), { status: 404, id });
  }
}

/** A backend over HTTP knows its users at most: each of their clients would see, and use, the tasks of the others. */
function refuseTaskList({ backend, name }: GatewayServer, method: string, id: string | null): void {
  if (method !== 'tasks/list' || backend === null || backend.kind === 'stdio') return;
  const text = `${name} does not tell clients apart, so that it cannot list the tasks of one of them.`;
  throw new MessageError('methodNotFound', text, { status: 200, id });
}

/** Whether the body can be sent before it is complete. */
export function mayPassEarly(
  { server, incoming }: GatewayRequest,
  { messages: [message] }: ScannedBody,
): boolean {
  const { backend, audit } = server;
  if (message === undefined || audit !== null || backend === null || backend.kind === 'stdio') return false;
  // A retry after the user has connected an account rewrites the body.
  if (backend.credentials.as === 'user' && incoming.headers['mcp-session-id'] === undefined) return false;
  if (isTaskMethod(message.method) && message.task === null) return false;
  // The message's id may come later in the body.
  if (message.kind === 'response' && message.serverRequest === null) return false;
  return message.method !== 'initialize';
}
