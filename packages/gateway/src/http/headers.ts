/** Which headers pass, in each direction, which have to agree with the body, and after which response the connection closes. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { decodeHeaderValue } from '@portcullis/http';
import { currentTracer } from '@portcullis/protocol';
import {
  MAY_ASK,
  metaKeys,
  PARAMETER_HEADER,
  refuseBatchIn,
  STATELESS,
  WITH_SESSIONS,
} from '../backends/revisions.ts';
import { LINGERING_CLOSE } from '../limits.ts';
import { MessageError } from '../messages/message-error.ts';
import type { ScannedBody, ScannedMessage } from '../messages/scanned-message.ts';

/**
 * Request headers that are forwarded, besides those of MCP (`mcp-*`). No others: `authorization`, `cookie` and `dpop` are for this
 * server, `x-forwarded-for` or `remote-user` would be believed by a backend behind a proxy, and `origin` has been checked here.
 * @see seed 5.2(6), RFC 9110 §7.6.1
 */
const FORWARDED = new Set([
  'accept',
  'accept-language',
  'baggage',
  'content-type',
  'traceparent',
  'tracestate',
  'user-agent',
]);

/** Headers that are translated one by one. */
const TRANSLATED = new Set(['mcp-session-id', 'mcp-name', 'last-event-id']);

/**
 * The forwarded headers as a flat list. A traced request has its own trace context in place of the client's.
 * @param more names that the configuration adds, in lower case
 */
export function forwardedHeaders(headers: IncomingHttpHeaders, more: readonly string[]): string[] {
  const trace = currentTracer()?.active()?.context ?? null;
  const fields: string[] = trace === null ? [] : Object.entries(trace).flat();
  for (const name in headers) {
    if (trace !== null && (name === 'traceparent' || name === 'tracestate')) continue;
    if (!(FORWARDED.has(name) || isOfMcp(name) || more.includes(name))) continue;
    const value = headers[name];
    if (typeof value === 'string') fields.push(name, value);
  }
  return fields;
}

/**
 * An intermediary MUST remove the fields that `Connection` names before it forwards a message. The gateway does not read them either.
 * @see RFC 9110 §7.6.1
 */
export function removeConnectionOptions(headers: IncomingHttpHeaders): void {
  const { connection } = headers;
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return;
  for (const option of connection.toLowerCase().split(',')) delete headers[option.trim()];
}

/** Headers that repeat arguments are forwarded only after they were compared with them. */
function isOfMcp(name: string): boolean {
  return name.startsWith('mcp-') && !TRANSLATED.has(name) && !name.startsWith(PARAMETER_HEADER);
}

/** Headers with others in place of those of the same names. */
export function withFields(headers: readonly string[], others: Readonly<Record<string, string>>): string[] {
  const replaced = Object.keys(others).map((name) => name.toLowerCase());
  const isRetained = (name = '') => !replaced.includes(name.toLowerCase());
  const fields =
    replaced.length === 0 ? [...headers] : headers.filter((_, at) => isRetained(headers[at - (at % 2)]));
  for (const name in others) fields.push(name, others[name] ?? '');
  return fields;
}

/**
 * Response headers that are passed on, besides those of MCP and of rate limits. No others: the origin belongs to the authorization
 * server as well (`set-cookie`, `clear-site-data`, `service-worker-allowed`), the guard decides about CORS, challenges concern the
 * gateway, and proxies before it obey `x-accel-redirect` and caching.
 */
const PASSED = new Set([
  'allow',
  'content-language',
  'content-length',
  'deprecation',
  'retry-after',
  'server-timing',
  'sunset',
  'traceresponse',
  'x-request-id',
]);

const PASSED_PREFIXES = /^(?:mcp-(?!session-id$)|(?:x-)?ratelimit)/;

/** Types that a browser cannot execute; any other becomes plain text: a backend's page must not run at this origin. */
const HARMLESS_TYPE = /^\s*(?:application\/(?:[\w.-]+\+)?json|text\/(?:event-stream|plain))\s*(?:;|$)/i;

/** The response headers that pass, as a flat list. @param isRewritten whether the length of the body may change */
export function responseHeaders(headers: IncomingHttpHeaders, isRewritten: boolean): string[] {
  const fields: string[] = ['cache-control', 'no-store'];
  const type = contentTypeOf(headers);
  if (type !== undefined) fields.push('content-type', HARMLESS_TYPE.test(type) ? type : 'text/plain');
  for (const name in headers) {
    if (!(PASSED.has(name) || PASSED_PREFIXES.test(name))) continue;
    if (isRewritten && name === 'content-length') continue;
    const value = headers[name];
    if (typeof value === 'string') fields.push(name, value);
  }
  return fields;
}

/** The first, if a backend sends several. */
export function contentTypeOf(headers: IncomingHttpHeaders): string | undefined {
  const type: unknown = headers['content-type'];
  const first: unknown = Array.isArray(type) ? type[0] : type;
  return typeof first === 'string' ? first : undefined;
}

/** Whether a body is compressed: neither the JSON of a request nor the lists and events of a response could be read. */
export function isCompressed(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding'];
  return encoding !== undefined && !/^\s*identity\s*$/i.test(encoding);
}

/**
 * The parameter that it has is none of JSON, and any other has no meaning. Some parsers find `charset` inside a quoted value.
 * @see RFC 8259 §11, RFC 9110 §5.6.6
 */
const JSON_TYPE =
  /^application\/json\s*(?:;\s*(?:(?:charset\s*=\s*(?:utf-?8|"utf-?8")|(?!charset)[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:(?!charset)[^"\\])*"))\s*)?)*$/i;

/** Whether a request body is JSON in UTF-8, as servers of MCP read it. Others might decode it differently than the gateway. */
export function isPlainJson(headers: IncomingHttpHeaders): boolean {
  return JSON_TYPE.test(headers['content-type'] ?? '') && !isCompressed(headers);
}

export function isStreamType(type: unknown): boolean {
  return typeof type === 'string' && /^\s*text\/event-stream\s*(?:;|$)/i.test(type);
}

/**
 * Of another revision, headers that are missing are left to the backend.
 * @throws MessageError for a header that the body contradicts, or that is missing
 * @see MCP 2026-07-28, Streamable HTTP, standard request headers, server validation
 */
export function checkHeaderAgreement({ isBatch, messages }: ScannedBody, headers: IncomingHttpHeaders): void {
  const [message] = messages;
  if (message === undefined) return;
  const method = headers['mcp-method'];
  const name = headers['mcp-name'];
  if (method !== undefined && (isBatch || method !== message.method)) throw mismatch('Mcp-Method', message);
  if (name !== undefined && (isBatch || !isNameOf(message, String(name))))
    throw mismatch('Mcp-Name', message);
  const version = headers['mcp-protocol-version'];
  for (const one of version === undefined ? [] : messages) {
    if (one.protocolVersion !== null && one.protocolVersion !== version)
      throw mismatch('MCP-Protocol-Version', one);
  }
  if (!isStateless(message, headers)) return;
  if (version === undefined) throw missing('MCP-Protocol-Version', message);
  if (method === undefined) throw missing('Mcp-Method', message);
  if (name === undefined && MAY_ASK.has(message.method)) throw missing('Mcp-Name', message);
}

/** What notifications need is not defined. */
function isStateless({ kind, protocolVersion }: ScannedMessage, headers: IncomingHttpHeaders): boolean {
  return kind === 'request' && (protocolVersion ?? headers['mcp-protocol-version']) === STATELESS;
}

/**
 * For a whole body.
 * @throws MessageError for a stateless request without what each has to contain
 * @see MCP 2026-07-28, base protocol, per-request protocol fields
 */
export function checkRequestFields({ messages }: ScannedBody, headers: IncomingHttpHeaders): void {
  for (const message of messages) {
    const { id, protocolVersion, hasCapabilities } = message;
    if (!isStateless(message, headers) || (protocolVersion !== null && hasCapabilities)) continue;
    const key = protocolVersion === null ? metaKeys.version : metaKeys.clientCapabilities;
    throw new MessageError('invalidParams', `_meta lacks ${key}.`, { id });
  }
}

/** Whether a header names what the message applies to. A method that applies to nothing has no use for it. */
function isNameOf({ tool, prompt, resource, task, method }: ScannedMessage, header: string): boolean {
  const target = tool ?? prompt ?? resource ?? task?.value ?? null;
  if (target === null || method === 'completion/complete') return true;
  return decodeHeaderValue(header) === target;
}

function missing(header: string, { id }: ScannedMessage): MessageError {
  return new MessageError('headerMismatch', `The header ${header} is missing.`, { id });
}

function mismatch(header: string, { id }: ScannedMessage): MessageError {
  return new MessageError('headerMismatch', `The header ${header} does not agree with the body.`, { id });
}

/**
 * A stateless request that names a version in the body, too, is left to the backend, whose error lists what it supports.
 * @throws MessageError for a version that does not exist, or has no batches, and for an `initialize` in a batch or in a session
 * @see MCP 2025-06-18, basic/transports, protocol version header
 */
export function checkProtocolVersion(body: ScannedBody, headers: IncomingHttpHeaders): void {
  checkInitialize(body, headers);
  const { isBatch, messages } = body;
  const [message] = messages;
  const header = headers['mcp-protocol-version'];
  if (header === undefined || message === undefined) return;
  const version = String(header);
  const { id, protocolVersion } = message;
  if (protocolVersion === null && version !== STATELESS && !WITH_SESSIONS.has(version)) {
    const all = [...WITH_SESSIONS, STATELESS].join(', ');
    const text = `MCP-Protocol-Version ${JSON.stringify(version)} is not supported: ${all} are.`;
    throw new MessageError('invalidRequest', text, { id });
  }
  if (isBatch) refuseBatchIn(version, id);
}

/**
 * A process that users share is initialized once, for all of them.
 * @see MCP 2025-03-26, lifecycle: `initialize` MUST NOT be part of a batch; transports: it is sent without a session ID
 */
function checkInitialize({ isBatch, messages }: ScannedBody, headers: IncomingHttpHeaders): void {
  const found = messages.find(({ method }) => method === 'initialize');
  if (found === undefined || !(isBatch || headers['mcp-session-id'] !== undefined)) return;
  const text = 'Send initialize as the only message, without a session.';
  throw new MessageError('invalidRequest', text, { id: found.id });
}

/** Connections that are closed after a response. */
const closing = new WeakSet<object>();

/**
 * Closes the connection after a response to a body that was not read to its end, in stages: a client that still writes would lose the
 * response if the connection were closed at once. What it writes is dropped.
 * @see RFC 9112 §9.6
 */
export function closeUnread(outgoing: ServerResponse): void {
  const { req: incoming } = outgoing;
  const { socket } = incoming;
  if (incoming.complete || closing.has(socket)) return;
  outgoing.shouldKeepAlive = false;
  closing.add(socket);
  // Node calls it when the response has been written.
  socket.destroySoon = () => {
    incoming.resume();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGERING_CLOSE).unref();
    socket.once('close', () => clearTimeout(timer));
  };
}

/** Whether a request followed one that closes its connection: its client gets no response and retries it. @see RFC 9112 §9.6 */
export function followsLast({ socket }: IncomingMessage): boolean {
  return closing.has(socket);
}
