/** The page edge: markup as an answer that cannot be framed, kept, scripted or told to post elsewhere. */
import { type HttpResponse, respond } from '@portcullis/http';
import type { Markup } from './markup.ts';

export interface PageOptions {
  /** 200 when left out. */
  readonly status?: number;
  /** Where the page's forms may end up besides this server, as sources of a content security policy. */
  readonly formAction?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the page loads our script. */
  readonly script?: boolean;
  /** `Set-Cookie` values. */
  readonly cookies?: readonly string[];
}

const NOTHING_KEPT = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' } as const;

/** @see OAuth 2.1 draft 13 §7.10 on clickjacking */
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
    ...NOTHING_KEPT,
    ...options.headers,
  };
  return respond(options.status ?? 200, headers, String(await markup), options.cookies);
}

function contentSecurityPolicy({ formAction = [], script = false }: PageOptions): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    ...(script ? ["script-src 'self'"] : []),
    `form-action ${["'self'", ...formAction].join(' ')}`,
    "img-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * Sends the browser on. MUST NOT be 307: the browser would post the person's password again, to the client.
 * @see OAuth 2.1 draft 13 §7.5.4
 */
export function respondRedirect(location: string, cookies: readonly string[] = []): HttpResponse {
  return respond(303, { location, ...NOTHING_KEPT }, null, cookies);
}
