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
const TRANSLATED = new Set(['mcp-session-id', 'last-event-id']);

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

/**
 * Response headers that are not passed on: of the hop; of the origin, which belongs to the authorization server as well
 * (`set-cookie`, `clear-site-data`); of CORS, which the guard decides; and challenges, which concern the gateway.
 */
const WITHHELD = new Set([
  'alt-svc',
  'clear-site-data',
  'connection',
  'content-security-policy',
  'date',
  'keep-alive',
  'location',
  'mcp-session-id',
  'nel',
  'proxy-authenticate',
  'proxy-connection',
  'proxy-authentication-info',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'server',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'set-login',
  'strict-transport-security',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
  'x-content-type-options',
  'x-powered-by',
  'referrer-policy',
]);

/** The response headers that pass, as a flat list. @param isRewritten whether the length of the body may change */
export function responseHeaders(headers: IncomingHttpHeaders, isRewritten: boolean): string[] {
  const fields: string[] = [];
  for (const name in headers) {
    if (WITHHELD.has(name) || name.startsWith('access-control-')) continue;
    if (isRewritten && name === 'content-length') continue;
    const value = headers[name];
    if (typeof value === 'string') fields.push(name, value);
    else if (value !== undefined) for (const one of value) fields.push(name, one);
  }
  return fields;
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
