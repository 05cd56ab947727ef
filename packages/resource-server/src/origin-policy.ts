/** Which browser pages may speak to a protected server, and under which names it may be reached. */
import { isLoopbackHost } from '@portcullis/protocol/protected-resource';
import type { GuardResponse } from './guard-response.ts';

/** Web origins that may call: any, or those listed, byte for byte. */
export type AllowedOrigins = 'any' | readonly string[];

export interface OriginPolicy {
  /** Whether a page of this origin may call. A request that no page made has none. */
  allows(origin: string): boolean;
  /** Whether the server may be addressed by this `Host`. */
  allowsHost(host: string): boolean;
  /** Headers that let the calling page read the answer. */
  corsHeadersFor(origin: string): Readonly<Record<string, string>>;
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** What a page may send. `*` does not stand for Authorization, and older browsers do not know it at all. */
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

/** Documents that are public anyway. */
export const PUBLIC_CORS: Readonly<Record<string, string>> = Object.freeze({
  'access-control-allow-origin': '*',
});

/**
 * The policy for resources at these URLs. Where nothing is configured: a server on this computer takes pages and names
 * of this computer only, which is what keeps a page elsewhere from reaching it by DNS rebinding; a server in public takes
 * any page, since a page has no authority over it but the token that it sends.
 * @see RFC 6454 §6, streamable HTTP transport (Origin)
 */
export function createOriginPolicy(
  resources: readonly string[],
  origins: AllowedOrigins | undefined,
  hosts: readonly string[] | undefined,
): OriginPolicy {
  const own = resources.map((resource) => new URL(resource));
  const isLocal = own.some((url) => isLoopbackHost(url.hostname));
  const listed = new Set([...own.map((url) => url.origin), ...(origins === 'any' ? [] : (origins ?? []))]);
  const names = new Set([...own.map((url) => url.hostname), ...(hosts ?? [])]);
  const isOpen = origins === 'any' || (origins === undefined && !isLocal);
  return {
    allows(origin) {
      if (listed.has(origin)) return true;
      if (isOpen) return WEB_ORIGIN.test(origin);
      return origins === undefined && isLoopbackOrigin(origin);
    },
    allowsHost(host) {
      if (!isLocal && hosts === undefined) return true;
      const name = hostnameOf(host);
      return names.has(name) || (isLocal && isLoopbackHost(name));
    },
    corsHeadersFor(origin) {
      if (isOpen) return ANY_ORIGIN;
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': RESPONSE_HEADERS,
        vary: 'Origin',
      };
    },
  };
}

/** Answers a preflight, which never carries a token; a page that may not call is told nothing. @see Fetch §3.3.6 */
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

/** scheme://host[:port]: what a browser writes for a page that has an origin. `null` is for those that have none. */
const WEB_ORIGIN = /^[a-z][a-z0-9+.-]{0,30}:\/\/[a-z0-9.:[\]_-]{1,260}$/;

/** Whether a text is an origin as browsers write it: of the web without a port that goes without saying. */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !WEB_ORIGIN.test(text)) return false;
  return !/^https?:/.test(text) || URL.parse(text)?.origin === text;
}

function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//.test(origin)) return false;
  const url = URL.parse(origin);
  return url !== null && url.origin === origin && isLoopbackHost(url.hostname);
}

/** The name in a `Host` field, without its port. */
export function hostnameOf(host: string): string {
  return host.toLowerCase().replace(/:\d{0,5}$/, '');
}
