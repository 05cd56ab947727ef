/** `fetch` with an access token: sent to the server's own origin only, renewed when it is refused, widened when it is too narrow. */
import type { Access, Renewal } from './access.ts';
import type { Configuration } from './configuration.ts';
import { NO_CHALLENGE, readServerChallenge } from './discovery/challenge.ts';
import type { Nonces } from './dpop/nonces.ts';
import { createProof } from './dpop/proof.ts';
import { ClientError } from './errors.ts';
import type { EllipticJwk } from './tokens/jwk.ts';
import type { Tokens } from './tokens/tokens.ts';
import { discard, type Fetch } from './transport.ts';

/** A request that can be sent more than once. */
interface Repeatable {
  readonly url: URL;
  readonly init: RequestInit;
}

/** Most redirects within the server's origin that are followed. */
const MOST_HOPS = 5;

/** Makes the function. */
export function createAuthorizedFetch(
  configuration: Configuration,
  access: Access,
  nonces: Nonces,
  identifier: () => string,
): Fetch {
  const { fetch, clock, limits, server } = configuration;
  const { origin } = new URL(server);

  return async function authorizedFetch(input, init) {
    const url = new URL(input instanceof Request ? input.url : input);
    // The token is for this server; whatever goes elsewhere goes without it.
    if (url.origin !== origin) return fetch(input, init);
    const request = await makeRepeatable(url, input, init);
    return insist(request, access.peek() ?? (await access.current()));
  };

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

  async function sendWithNonce(request: Repeatable, tokens: Tokens | null): Promise<Response> {
    const response = await sendAlong(request, tokens);
    if (tokens?.scheme !== 'DPoP') return response;
    const isNew = nonces.keep(request.url.href, response.headers);
    const wanted =
      response.status === 401 && readServerChallenge(response.headers).error === 'use_dpop_nonce';
    if (!isNew || !wanted) return response;
    await discard(response);
    const answer = await sendAlong(request, tokens);
    nonces.keep(request.url.href, answer.headers);
    return answer;
  }

  /** Follows redirects within the origin. A redirect elsewhere is refused: neither token nor request belongs there. */
  async function sendAlong(request: Repeatable, tokens: Tokens | null): Promise<Response> {
    let { url, init } = request;
    for (let hop = 0; ; hop += 1) {
      const response = await send(url, init, tokens);
      if (response.type === 'opaqueredirect') throw redirected('to a place that the browser does not tell');
      const location = response.headers.get('location');
      const redirects = [301, 302, 303, 307, 308].includes(response.status) && location !== null;
      if (!redirects || request.init.redirect === 'manual') return response;
      await discard(response);
      const next = URL.parse(location, url.href);
      if (next === null || next.origin !== origin) throw redirected(`to ${next?.origin ?? 'nowhere'}`);
      if (hop === MOST_HOPS || request.init.redirect === 'error') throw redirected('again and again');
      url = next;
      if (response.status < 307 && init.method !== 'GET' && init.method !== 'HEAD') {
        init = { ...init, method: 'GET', body: null };
      }
    }
  }

  async function send(url: URL, init: RequestInit, tokens: Tokens | null): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.delete('authorization');
    headers.delete('dpop');
    if (tokens !== null) {
      headers.set('authorization', `${tokens.scheme} ${tokens.accessToken}`);
      if (tokens.dpopKey !== null) headers.set('dpop', await prove(url, init, tokens, tokens.dpopKey));
    }
    return fetch(url.href, { ...init, headers, redirect: 'manual' });
  }

  function prove(url: URL, init: RequestInit, tokens: Tokens, key: EllipticJwk): Promise<string> {
    return createProof(key, {
      method: init.method ?? 'GET',
      url: url.href,
      accessToken: tokens.accessToken,
      nonce: nonces.find(url.href),
      now: clock(),
      identifier: identifier(),
    });
  }

  function redirected(where: string): ClientError {
    return new ClientError(
      'redirected',
      `${origin} redirects the request ${where}. Nothing was sent there; check the server's URL.`,
    );
  }
}

/** A body that can be read only once is read now. */
async function makeRepeatable(
  url: URL,
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<Repeatable> {
  if (!(input instanceof Request)) {
    if (!(init.body instanceof ReadableStream)) return { url, init };
    return { url, init: { ...init, body: await new Response(init.body).arrayBuffer() } };
  }
  const request = new Request(input, init);
  const body = request.body === null ? null : await request.arrayBuffer();
  const { method, headers, signal, redirect } = request;
  return { url, init: { ...init, method, headers, signal, redirect, body } };
}

/** Asks the server without a token, so that it says what it wants. */
export async function provoke(configuration: Configuration): Promise<ReturnType<typeof readServerChallenge>> {
  const response = await configuration.fetch(configuration.server, {
    headers: { accept: 'application/json, text/event-stream' },
    redirect: 'manual',
  });
  await discard(response);
  return response.status === 401 ? readServerChallenge(response.headers) : NO_CHALLENGE;
}
