/** One call to the protected server with tokens: proven, with the nonce that the server wants, along redirects within its origin. */

import { ClientError } from '../errors.ts';
import type { ClientSettings } from '../settings.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import { discard } from '../transport.ts';
import { processProtectedResourceResponse, protectedResourceHeaders } from './protected-resource.ts';

/** A call that can be sent more than once. */
export interface RepeatableRequest {
  /** Absolute URL within the server's origin. */
  readonly href: string;
  readonly init: RequestInit;
}

/**
 * Sends a call; `null`: without tokens.
 * @throws ClientError `redirected` when it leads away from the server
 */
export type SendWithTokens = (call: RepeatableRequest, tokens: Tokens | null) => Promise<Response>;

/** Most redirects within the server's origin that are followed. */
const MOST_HOPS = 5;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Makes the function. */
export function createSendWithTokens(
  { fetch, server }: ClientSettings,
  prover: ClientContext,
): SendWithTokens {
  const { origin } = new URL(server);

  return (call, tokens) => (tokens?.scheme === 'DPoP' ? sendProven(call, tokens) : sendAlong(call, tokens));

  /** A nonce that the server asks for is given at once. @see RFC 9449 §9 */
  async function sendProven(call: RepeatableRequest, tokens: Tokens): Promise<Response> {
    const response = await sendAlong(call, tokens);
    if (processProtectedResourceResponse(prover, call.href, response).kind !== 'again') return response;
    await discard(response);
    const answer = await sendAlong(call, tokens);
    prover.dpopNonces.keep(call.href, answer.headers);
    return answer;
  }

  /** Follows redirects within the origin. A redirect elsewhere is refused: neither token nor request belongs there. */
  async function sendAlong(call: RepeatableRequest, tokens: Tokens | null): Promise<Response> {
    let { href, init } = call;
    for (let hop = 0; ; hop += 1) {
      const response = await send(href, init, tokens);
      if (response.type === 'opaqueredirect') throw redirected('to a place that the browser does not tell');
      const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
      if (location === null || call.init.redirect === 'manual') return response;
      await discard(response);
      const next = URL.parse(location, href);
      if (next === null || next.origin !== origin) throw redirected(`to ${next?.origin ?? 'nowhere'}`);
      if (hop === MOST_HOPS || call.init.redirect === 'error') throw redirected('again and again');
      href = next.href;
      if (response.status < 307 && init.method !== 'GET' && init.method !== 'HEAD') {
        init = { ...init, method: 'GET', body: null };
      }
    }
  }

  async function send(href: string, init: RequestInit, tokens: Tokens | null): Promise<Response> {
    const { method = 'GET' } = init;
    const own =
      tokens?.dpopKey == null
        ? bearer(tokens)
        : await protectedResourceHeaders(prover, tokens, { method, url: href });
    return fetch(href, { ...init, headers: withOwn(init.headers, own), redirect: 'manual' });
  }

  function redirected(where: string): ClientError {
    return new ClientError(
      'redirected',
      `${origin} redirects the request ${where}. Nothing was sent there; check the server's URL.`,
    );
  }
}

/** The usual case, without a promise. */
function bearer(tokens: Tokens | null): Readonly<Record<string, string>> {
  return tokens === null ? {} : { authorization: `${tokens.scheme} ${tokens.accessToken}` };
}

/** Header fields that prove who asks. */
const OWN = ['authorization', 'dpop'];

/**
 * The caller's headers, of which those that prove who asks are replaced by ours. Always a plain record: reading `Headers`
 * costs a tenth of copying them.
 */
function withOwn(
  headers: RequestInit['headers'],
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const copy: Record<string, string> = { ...own };
  const given = Array.isArray(headers) ? new Headers(headers) : (headers ?? {});
  // Anything with pairs counts: a host may bring a `Headers` that is not the platform's.
  for (const [name, value] of isIterable(given) ? given : Object.entries(given)) {
    if (!OWN.includes(name.toLowerCase())) copy[name] = String(value);
  }
  return copy;
}

function isIterable(headers: object): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}
