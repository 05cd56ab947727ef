/** Which headers pass, in each direction. */
import type { IncomingHttpHeaders } from 'node:http';

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

/** The forwarded headers as a flat list. @param more names that the configuration adds, in lower case */
export function forwardedHeaders(headers: IncomingHttpHeaders, more: readonly string[]): string[] {
  const fields: string[] = [];
  for (const name in headers) {
    if (!(FORWARDED.has(name) || (name.startsWith('mcp-') && !TRANSLATED.has(name)) || more.includes(name)))
      continue;
    const value = headers[name];
    if (typeof value === 'string') fields.push(name, value);
  }
  return fields;
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

/** Whether a response is compressed although that was not requested: its lists and events could not be read. */
export function isCompressed(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding'];
  return encoding !== undefined && !/^\s*identity\s*$/i.test(encoding);
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*(?:utf-?8|"utf-?8")\s*)?$/i;

/** Whether a request body is JSON in UTF-8, as servers of MCP read it. Others might decode it differently than the gateway. */
export function isPlainJson(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding'];
  return (
    JSON_TYPE.test(headers['content-type'] ?? '') && (encoding === undefined || /^identity$/i.test(encoding))
  );
}

export function isStreamType(type: unknown): boolean {
  return typeof type === 'string' && /^\s*text\/event-stream\s*(?:;|$)/i.test(type);
}
