/** CORS and DNS rebinding: which web origins may call a protected server, and which `Host` names it accepts. */
import { isLoopbackHost } from '@portcullis/protocol';
import type { GuardResponse } from './guard-response.ts';

/** Web origins that may call: any, or those listed, byte for byte. */
export type AllowedOrigins = 'any' | readonly string[];

export type OriginPolicy = ReturnType<typeof createOriginPolicy>;

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** Headers that pages may send. `*` does not include Authorization, and older browsers do not support it. */
export const REQUEST_HEADERS: string = [
  'Authorization',
  'Content-Type',
  'Accept',
  'MCP-Protocol-Version',
  'Ctx-Protocol-Version',
  'Mcp-Session-Id',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'DPoP',
  '*',
].join(', ');

const RESPONSE_HEADERS = [
  'WWW-Authenticate',
  'DPoP-Nonce',
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Retry-After',
].join(', ');

const NO_CORS: Readonly<Record<string, string>> = Object.freeze({});

const ANY_ORIGIN: Readonly<Record<string, string>> = Object.freeze({
  'access-control-allow-origin': '*',
  'access-control-expose-headers': RESPONSE_HEADERS,
});

/** CORS headers of public documents. */
export const PUBLIC_CORS: Readonly<Record<string, string>> = Object.freeze({
  'access-control-allow-origin': '*',
});

/**
 * Creates the policy for resources at these URLs. By default a server on this computer accepts only pages and host
 * names of this computer, which prevents DNS rebinding; a public server accepts any page, since a page has no
 * authority but the token that it sends.
 * @see RFC 6454 §6, streamable HTTP transport (Origin)
 */
export function createOriginPolicy(
  resources: readonly string[],
  origins: AllowedOrigins | undefined,
  hosts: readonly string[] | undefined,
) {
  const own = resources.map((resource) => new URL(resource));
  const isLocal = own.some((url) => isLoopbackHost(url.hostname));
  const listed = new Set([...own.map((url) => url.origin), ...(origins === 'any' ? [] : (origins ?? []))]);
  const names = new Set([...own.map((url) => url.hostname), ...(hosts ?? [])]);
  const isOpen = origins === 'any' || (origins === undefined && !isLocal);
  return {
    /** Whether pages of this origin may call. Requests that no page made have no origin. */
    allows(origin: string): boolean {
      if (listed.has(origin)) return true;
      if (isOpen) return WEB_ORIGIN.test(origin);
      return origins === undefined && isLoopbackOrigin(origin);
    },
    /** Whether the server accepts this `Host`. */
    allowsHost(host: string): boolean {
      if (!isLocal && hosts === undefined) return true;
      const name = hostnameOf(host);
      return names.has(name) || (isLocal && isLoopbackHost(name));
    },
    /** CORS headers that let the calling page read the response. */
    corsHeadersFor(origin: string): Readonly<Record<string, string>> {
      if (isOpen) return ANY_ORIGIN;
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': RESPONSE_HEADERS,
        vary: 'Origin',
      };
    },
  };
}

/**
 * Responds to a preflight, which never carries a token; a page that may not call gets no CORS headers. @see Fetch
 * §3.3.6
 */
export function preflightResponse(policy: OriginPolicy, origin: string): GuardResponse {
  const headers = policy.allows(origin)
    ? {
        ...policy.corsHeadersFor(origin),
        'access-control-allow-methods': METHODS,
        'access-control-allow-headers': REQUEST_HEADERS,
        'access-control-max-age': '600',
      }
    : NO_CORS;
  return { status: 204, headers: { ...headers, 'cache-control': 'no-store' }, body: null };
}

/** The syntax of an origin, scheme://host[:port], as browsers send it. Pages without an origin send `null`. */
const WEB_ORIGIN = /^[a-z][a-z0-9+.-]{0,30}:\/\/[a-z0-9.:[\]_-]{1,260}$/;

/** Whether a text is an origin as browsers write it, without a default port. */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !WEB_ORIGIN.test(text)) return false;
  return !/^https?:/.test(text) || URL.parse(text)?.origin === text;
}

function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//.test(origin)) return false;
  const url = URL.parse(origin);
  return url !== null && url.origin === origin && isLoopbackHost(url.hostname);
}

/** The name in a `Host` header, without its port. */
export function hostnameOf(host: string): string {
  return host.toLowerCase().replace(/:\d{0,5}$/, '');
}
