/** Sends one request to the protected server with tokens: DPoP nonces are supplied, redirects followed within its resource only. */
import { ClientError, sanitizeText } from '../errors.ts';
import type { ClientSettings } from '../settings.ts';
import type { Tokens } from '../storage/credentials.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import { discardBody } from '../transport.ts';
import { processProtectedResourceResponse, protectedResourceHeaders } from './protected-resource.ts';
import type { IsTokenTarget } from './token-target.ts';

/** A request that can be sent more than once. */
export interface RepeatableRequest {
  /** Absolute URL that may carry the token. */
  readonly href: string;
  readonly init: RequestInit;
}

/**
 * Sends a request; `null`: without tokens.
 * @throws ClientError `redirected` when the server redirects to where its token is not sent
 */
export type SendWithTokens = (request: RepeatableRequest, tokens: Tokens | null) => Promise<Response>;

const ORIGIN_ADVICE = ' If the token is meant for the whole origin, allow that: sendTokenTo, --whole-origin.';

const MAX_REDIRECTS = 5;

/** One for the nonce, one for the time. */
const MAX_PROOF_RETRIES = 2;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Creates the function. */
export function createSendWithTokens(
  { fetch, server }: Pick<ClientSettings, 'fetch' | 'server'>,
  context: ClientContext,
  isTokenTarget: IsTokenTarget,
): SendWithTokens {
  const { origin } = new URL(server);

  return (request, tokens) =>
    tokens?.scheme === 'DPoP' ? sendWithProof(request, tokens) : sendAndFollow(request, tokens);

  /** A nonce that the server requires is supplied at once, and a clock that differs from its own is allowed for. @see RFC 9449 §9 */
  async function sendWithProof(request: RepeatableRequest, tokens: Tokens): Promise<Response> {
    for (let retries = 0; ; retries += 1) {
      const response = await sendAndFollow(request, tokens);
      const { kind } = processProtectedResourceResponse(context, request.href, response);
      if (kind !== 'retry' || retries === MAX_PROOF_RETRIES) return response;
      await discardBody(response);
    }
  }

  /** Follows redirects within the resource only: token and request are for this server. */
  async function sendAndFollow(request: RepeatableRequest, tokens: Tokens | null): Promise<Response> {
    let { href, init } = request;
    for (let redirects = 0; ; redirects += 1) {
      const response = await send(href, init, tokens);
      if (response.type === 'opaqueredirect') throw redirected('to a URL that the browser does not disclose');
      const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
      if (location === null || request.init.redirect === 'manual') return response;
      await discardBody(response);
      const next = URL.parse(location, href);
      if (next === null || next.origin !== origin) throw redirected(`to ${next?.origin ?? 'an invalid URL'}`);
      if (!isTokenTarget(next.href, tokens))
        throw redirected(`to ${sanitizeText(next.pathname)}, outside of its resource`, ORIGIN_ADVICE);
      if (redirects === MAX_REDIRECTS || request.init.redirect === 'error')
        throw redirected('too many times');
      href = next.href;
      if (becomesGet(response.status, init.method ?? 'GET')) {
        const headers = mergeHeaders(init.headers, {}, BODY_HEADERS);
        init = { ...init, method: 'GET', body: null, headers };
      }
    }
  }

  async function send(href: string, init: RequestInit, tokens: Tokens | null): Promise<Response> {
    const { method = 'GET' } = init;
    // New tokens may be for a smaller resource than the rejected ones.
    const sent = isTokenTarget(href, tokens) ? tokens : null;
    const own =
      sent?.scheme !== 'DPoP'
        ? bearerHeader(sent)
        : await protectedResourceHeaders(context, sent, { method, url: href });
    return fetch(href, { ...init, headers: mergeHeaders(init.headers, own), redirect: 'manual' });
  }

  function redirected(where: string, advice = ''): ClientError {
    return new ClientError(
      'redirected',
      `${origin} redirects the request ${where}. It was not followed; check the server's URL.${advice}`,
    );
  }
}

/** @see Fetch Standard, HTTP-redirect fetch */
function becomesGet(status: number, method: string): boolean {
  const upper = method.toUpperCase();
  if (status === 303) return upper !== 'GET' && upper !== 'HEAD';
  return status < 303 && upper === 'POST';
}

/** The common case, without a promise. */
function bearerHeader(tokens: Tokens | null): Readonly<Record<string, string>> {
  return tokens === null ? {} : { authorization: `${tokens.scheme} ${tokens.accessToken}` };
}

/** Headers that authorize a request. */
const AUTHORIZATION_HEADERS = ['authorization', 'dpop'];

/** Headers of a body, which a redirect to a GET request drops with it. @see Fetch Standard, HTTP-redirect fetch */
const BODY_HEADERS = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-type',
];

/**
 * The caller's headers without those to drop, and the client's own headers. Always a plain record: iterating `Headers` is ten
 * times as fast as copying them.
 */
function mergeHeaders(
  headers: RequestInit['headers'],
  own: Readonly<Record<string, string>>,
  dropped: readonly string[] = AUTHORIZATION_HEADERS,
): Record<string, string> {
  const merged: Record<string, string> = { ...own };
  const given = Array.isArray(headers) ? new Headers(headers) : (headers ?? {});
  // Any iterable of pairs is accepted: a host may use another implementation of `Headers`.
  for (const [name, value] of isIterable(given) ? given : Object.entries(given)) {
    if (!dropped.includes(name.toLowerCase())) merged[name] = String(value);
  }
  return merged;
}

function isIterable(headers: object): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}
