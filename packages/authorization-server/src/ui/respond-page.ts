/** Responds with a page or redirect, with security headers: CSP, no framing, no caching, no referrer. */
import { type HttpResponse, respond } from '@portcullis/http';
import type { Markup } from './markup.ts';

export interface PageOptions {
  /** Default: 200. */
  readonly status?: number;
  /** Additional CSP sources for `form-action`. */
  readonly formAction?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the page loads the script. */
  readonly script?: boolean;
  /** Whether the script looks for a change of the page. */
  readonly polls?: boolean;
  /** `Set-Cookie` values. */
  readonly cookies?: readonly string[];
}

const NO_STORE_HEADERS = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' } as const;

/** @see RFC 6749 §10.13, OAuth 2.1 draft 13 §7.10 on clickjacking */
export async function respondPage(
  markup: Markup | Promise<string>,
  options: PageOptions = {},
): Promise<HttpResponse> {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy(options),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    ...NO_STORE_HEADERS,
    ...options.headers,
  };
  return respond(options.status ?? 200, headers, String(await markup), options.cookies);
}

function contentSecurityPolicy({ formAction = [], script = false, polls = false }: PageOptions): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    ...(script ? ["script-src 'self'"] : []),
    ...(polls ? ["connect-src 'self'"] : []),
    `form-action ${["'self'", ...formAction].join(' ')}`,
    "img-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * Redirects the browser. The status MUST NOT be 307: the browser would post the user's password to the client.
 * @see RFC 9700 §4.12, OAuth 2.1 draft 13 §7.5.4
 */
export function respondRedirect(location: string, cookies: readonly string[] = []): HttpResponse {
  return respond(303, { location, ...NO_STORE_HEADERS }, null, cookies);
}
