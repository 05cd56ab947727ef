/**
 * Spans of calls: one for the call at the gateway, and one in it for its exchange with the backend.
 * @see OpenTelemetry semantic conventions for MCP
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  readTraceContext,
  type Span,
  type SpanStart,
  startSpan,
  type TraceContext,
} from '@portcullis/protocol';
import type { CallDecision, CallOutcome } from '../audit/call-record.ts';
import { MAX_TOOL_NAME } from '../limits.ts';
import type { ScannedBody, ScannedMessage } from '../messages/scanned-message.ts';
import type { GatewayRequest } from '../servers/request.ts';

/** Starts the span of a call. A client with a token chooses the trace, any other can only name one. */
export function startCallSpan(request: GatewayRequest, { messages: [message] }: ScannedBody): Span | null {
  if (message === undefined) return null;
  return startSpan(
    () => nameOf(message),
    () => ({
      kind: 'server',
      attributes: { ...attributesOf(message, request), 'network.transport': 'tcp' },
      ...arrivalOf(request, readReceived(message, request)),
    }),
  );
}

/** Starts the span of a request without a known call: a stream of `GET`, the end of a session, or what is refused before its body is read. */
export function startRequestSpan(request: GatewayRequest): Span | null {
  const { server, incoming } = request;
  return startSpan(
    () => `${incoming.method} ${server.path}`,
    () => ({
      kind: 'server',
      attributes: { ...httpAttributesOf(incoming, server.path), ...sessionOf(incoming) },
      ...arrivalOf(
        request,
        readTraceContext((name) => incoming.headers[name]),
      ),
    }),
  );
}

function arrivalOf({ startedAt, owner }: GatewayRequest, context: TraceContext | null) {
  return {
    startedAt: performance.timeOrigin + startedAt,
    received: { context, isTrusted: owner.isAnonymous !== true },
  };
}

/** Traces a request that the guard refuses. @param findPath of its server; `null`: there is none */
export function traceRefusal(incoming: IncomingMessage, findPath: () => string | null, status: number): void {
  startSpan(
    () => [incoming.method, findPath() ?? ''].join(' ').trimEnd(),
    () => ({
      kind: 'server',
      attributes: { ...httpAttributesOf(incoming, findPath()), 'http.response.status_code': status },
      received: { context: readTraceContext((name) => incoming.headers[name]), isTrusted: false },
    }),
  )?.end(status >= 500 ? String(status) : null);
}

function httpAttributesOf({ method = '' }: IncomingMessage, path: string | null) {
  return {
    'http.request.method': method,
    ...(path !== null && { 'http.route': path, 'portcullis.server': path }),
  };
}

/** Starts the span of its exchange with the backend. */
export function startBackendSpan(request: GatewayRequest, { messages: [message] }: ScannedBody): Span | null {
  if (message === undefined) return null;
  const isProcess = request.server.backend?.kind === 'stdio';
  return startSpan(
    () => nameOf(message),
    () => ({
      kind: 'client',
      attributes: {
        ...attributesOf(message, request),
        'network.transport': isProcess ? 'pipe' : 'tcp',
      },
    }),
  );
}

export function endCallSpan(
  span: Span,
  decision: CallDecision,
  outcome: CallOutcome,
  status: number | null,
): void {
  span.set({
    'portcullis.decision': decision,
    'portcullis.outcome': outcome,
    ...(status !== null && { 'http.response.status_code': status }),
  });
  span.end(decision !== 'allowed' ? decision : outcome === 'answered' ? null : outcome);
}

function nameOf({ method, tool, prompt }: ScannedMessage): string {
  return [shorten(method === '' ? 'response' : method), shorten(tool ?? prompt ?? '')].join(' ').trimEnd();
}

/** Nothing of the arguments, nor the URI of a resource, which is one. */
function attributesOf(
  { method, tool, prompt, id, protocolVersion }: ScannedMessage,
  { server, incoming }: GatewayRequest,
): NonNullable<SpanStart['attributes']> {
  const { headers } = incoming;
  const version = headers['mcp-protocol-version'] ?? protocolVersion;
  return {
    'mcp.method.name': shorten(method),
    'portcullis.server': server.path,
    ...(tool !== null && { 'gen_ai.tool.name': shorten(tool), 'gen_ai.operation.name': 'execute_tool' }),
    ...(prompt !== null && { 'gen_ai.prompt.name': shorten(prompt) }),
    ...(id !== null && { 'jsonrpc.request.id': shorten(id) }),
    ...(typeof version === 'string' && { 'mcp.protocol.version': shorten(version) }),
    ...sessionOf(incoming),
  };
}

/** As a hash: the identifier itself is a credential. */
function sessionOf({ headers }: IncomingMessage) {
  const session = headers['mcp-session-id'];
  return typeof session === 'string'
    ? { 'mcp.session.id': hash('sha256', session, 'base64url').slice(0, 22) }
    : {};
}

function shorten(text: string): string {
  return text.slice(0, MAX_TOOL_NAME);
}

/** That of the message, which belongs to one call; the header belongs to a request over HTTP. */
function readReceived(
  { traceparent, tracestate }: ScannedMessage,
  { incoming: { headers } }: GatewayRequest,
): TraceContext | null {
  const members = { traceparent: traceparent?.value, tracestate: tracestate?.value };
  const inMessage = readTraceContext((name) => members[name]);
  return inMessage ?? readTraceContext((name) => headers[name]);
}
