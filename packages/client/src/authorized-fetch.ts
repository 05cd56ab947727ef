/** `fetch` with an access token: sent to the server's own origin only, renewed when it is refused, widened when it is too narrow. */

import type { Configuration } from './configuration.ts';
import { readServerChallenge } from './discovery/challenge.ts';
import { ClientError } from './errors.ts';
import { authorize, understandCall } from './protected-request.ts';
import type { Access, Renewal } from './session/access.ts';
import type { Prover } from './tokens/prover.ts';
import type { Tokens } from './tokens/tokens.ts';
import { discard, type Fetch } from './transport.ts';

/** A place, parsed once. */
interface Place {
  readonly href: string;
  readonly origin: string;
}

/** A request that can be sent more than once. */
interface Repeatable {
  readonly place: Place;
  readonly init: RequestInit;
}

/** Most redirects within the server's origin that are followed. */
const MOST_HOPS = 5;

/** Makes the function. */
export function createAuthorizedFetch(configuration: Configuration, access: Access, prover: Prover): Fetch {
  const { fetch, limits, server } = configuration;
  const { origin } = new URL(server);
  /** Callers mostly ask for the same place again. */
  let latest: Place & { readonly text: string } = { text: server, href: server, origin };

  return async function authorizedFetch(input, init) {
    const place = placeOf(input);
    // The token is for this server; whatever goes elsewhere goes without it.
    if (place.origin !== origin) return fetch(input, init);
    const repeatable = isRepeatable(input, init) ? (init ?? {}) : await makeRepeatable(input, init);
    return insist({ place, init: repeatable }, access.peek() ?? (await access.current()));
  };

  function placeOf(input: string | URL | Request): Place {
    const text = typeof input === 'string' ? input : input instanceof Request ? input.url : input.href;
    if (text !== latest.text) {
      const url = new URL(text);
      latest = { text, href: url.href, origin: url.origin };
    }
    return latest;
  }

  async function insist(request: Repeatable, first: Tokens | null): Promise<Response> {
    let tokens = first;
    const renewals = new Set<Renewal['by']>();
    let stepUps = 0;
    for (;;) {
      const response = await sendWithNonce(request, tokens);
      // Refresh once if possible, else sign in once, then give up.
      if (response.status === 401 && !renewals.has('obtained')) {
        const mayRefresh = !renewals.has('refreshed');
        const challenge = readServerChallenge(response.headers);
        await discard(response);
        const renewal = await access.renew(tokens, challenge, mayRefresh);
        // Somebody else's tokens that are refused as well are no reason to go on for ever.
        renewals.add(renewals.has(renewal.by) ? 'obtained' : renewal.by);
        tokens = renewal.tokens;
        continue;
      }
      if (response.status === 403 && tokens !== null && stepUps < limits.stepUps) {
        const wider = await widen(response, tokens);
        if (wider === null) return response;
        await discard(response);
        stepUps += 1;
        tokens = wider;
        continue;
      }
      return response;
    }
  }

  /** Only a refusal that says `insufficient_scope` is about scopes. */
  async function widen(response: Response, tokens: Tokens): Promise<Tokens | null> {
    const challenge = readServerChallenge(response.headers);
    return challenge.error === 'insufficient_scope' ? access.stepUp(tokens, challenge) : null;
  }

  function sendWithNonce(request: Repeatable, tokens: Tokens | null): Promise<Response> {
    return tokens?.scheme === 'DPoP' ? sendProven(request, tokens) : sendAlong(request, tokens);
  }

  /** A nonce that the server asks for is given at once. @see RFC 9449 §9 */
  async function sendProven(request: Repeatable, tokens: Tokens): Promise<Response> {
    const { href } = request.place;
    const response = await sendAlong(request, tokens);
    if (understandCall(prover, href, response).kind !== 'again') return response;
    await discard(response);
    const answer = await sendAlong(request, tokens);
    prover.nonces.keep(href, answer.headers);
    return answer;
  }

  /** Follows redirects within the origin. A redirect elsewhere is refused: neither token nor request belongs there. */
  async function sendAlong(request: Repeatable, tokens: Tokens | null): Promise<Response> {
    let { href } = request.place;
    let { init } = request;
    for (let hop = 0; ; hop += 1) {
      const response = await send(href, init, tokens);
      if (response.type === 'opaqueredirect') throw redirected('to a place that the browser does not tell');
      const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
      if (location === null || request.init.redirect === 'manual') return response;
      await discard(response);
      const next = URL.parse(location, href);
      if (next === null || next.origin !== origin) throw redirected(`to ${next?.origin ?? 'nowhere'}`);
      if (hop === MOST_HOPS || request.init.redirect === 'error') throw redirected('again and again');
      href = next.href;
      if (response.status < 307 && init.method !== 'GET' && init.method !== 'HEAD') {
        init = { ...init, method: 'GET', body: null };
      }
    }
  }

  async function send(href: string, init: RequestInit, tokens: Tokens | null): Promise<Response> {
    const { method = 'GET' } = init;
    const own =
      tokens?.dpopKey == null ? bearer(tokens) : await authorize(prover, tokens, { method, url: href });
    return fetch(href, { ...init, headers: withOwn(init.headers, own), redirect: 'manual' });
  }

  function redirected(where: string): ClientError {
    return new ClientError(
      'redirected',
      `${origin} redirects the request ${where}. Nothing was sent there; check the server's URL.`,
    );
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The usual case, without a promise. */
function bearer(tokens: Tokens | null): Readonly<Record<string, string>> {
  return tokens === null ? {} : { authorization: `${tokens.scheme} ${tokens.accessToken}` };
}

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

const OWN = ['authorization', 'dpop'];

function isRepeatable(input: string | URL | Request, init: RequestInit | undefined): boolean {
  return !(input instanceof Request) && !(init?.body instanceof ReadableStream);
}

/** A body that can be read only once is read now. */
async function makeRepeatable(input: string | URL | Request, init: RequestInit = {}): Promise<RequestInit> {
  if (!(input instanceof Request))
    return { ...init, body: await new Response(init.body ?? null).arrayBuffer() };
  const request = new Request(input, init);
  const body = request.body === null ? null : await request.arrayBuffer();
  const { method, headers, signal, redirect } = request;
  return { ...init, method, headers, signal, redirect, body };
}
