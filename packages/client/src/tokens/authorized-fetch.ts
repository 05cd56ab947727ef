/** `fetch` with an access token for the server's resource: renews rejected tokens, and steps up when scopes are missing. */
import { readServerChallenge } from '../discovery/challenge.ts';
import type { ClientSettings } from '../settings.ts';
import type { Tokens } from '../storage/credentials.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import { discardBody, type Fetch } from '../transport.ts';
import { createSendWithTokens, type RepeatableRequest } from './send-with-tokens.ts';
import type { RenewedTokens, TokenManager } from './token-manager.ts';
import { createTokenTargets } from './token-target.ts';

/** A parsed request URL. */
interface Target {
  readonly text: string;
  readonly href: string;
}

/**
 * Creates the function.
 * @param maySignIn `false`: where a sign-in or step-up is needed, the request fails, or its response is returned
 */
export function createAuthorizedFetch(
  settings: Pick<ClientSettings, 'fetch' | 'limits' | 'server' | 'sendTokenTo'>,
  tokenManager: TokenManager,
  context: ClientContext,
  maySignIn = true,
): Fetch {
  const { fetch, limits, server } = settings;
  const { origin } = new URL(server);
  const isTokenTarget = createTokenTargets(settings);
  const send = createSendWithTokens(settings, context, isTokenTarget);
  /** Callers mostly request the same URL again. */
  let latest: Target = { text: server, href: new URL(server).href };

  return async function authorizedFetch(input, init) {
    const { href } = targetOf(input);
    // Only the tokens say whether a URL outside of the server's own path belongs to their resource.
    const isOwn = isTokenTarget(href, null);
    if (!isOwn && new URL(href).origin !== origin) return fetch(input, init);
    const tokens = tokenManager.peek() ?? (await tokenManager.current());
    if (!isOwn && !isTokenTarget(href, tokens)) return fetch(input, init);
    const repeatable = isRepeatable(input, init) ? (init ?? {}) : await makeRepeatable(input, init);
    return sendUntilAccepted({ href, init: repeatable }, tokens);
  };

  function targetOf(input: string | URL | Request): Target {
    const text = typeof input === 'string' ? input : input instanceof Request ? input.url : input.href;
    if (text !== latest.text) {
      latest = { text, href: new URL(text).href };
    }
    return latest;
  }

  /** Refreshes once if possible, else signs in once, and once more for an operation that demands it, then returns the response; steps up as often as the limits allow. */
  async function sendUntilAccepted(request: RepeatableRequest, first: Tokens | null): Promise<Response> {
    let tokens = first;
    const renewals = new Set<RenewedTokens['by']>();
    let stepUps = 0;
    let hasAuthenticated = false;
    for (;;) {
      const response = await send(request, tokens);
      const { status } = response;
      if (status !== 401 && status !== 403) return response;
      const challenge = readServerChallenge(response.headers);
      // RFC 9470 §3
      const demandsAuthentication = challenge.authentication !== undefined && !hasAuthenticated;
      if (status === 401 && (demandsAuthentication || !renewals.has('obtained'))) {
        await discardBody(response);
        const mayRefresh = !renewals.has('refreshed');
        const options = { mayRefresh, maySignIn };
        const { by, tokens: renewed } = await tokenManager.renew(tokens, challenge, options);
        if (demandsAuthentication) hasAuthenticated = true;
        // Adopted tokens that are rejected too must not start an endless loop.
        else renewals.add(renewals.has(by) ? 'obtained' : by);
        tokens = renewed;
        continue;
      }
      // Any other 403 is not about scopes.
      const needsScopes = status === 403 && challenge.error === 'insufficient_scope';
      if (!needsScopes || !maySignIn || tokens === null || stepUps >= limits.stepUps) return response;
      const steppedUp = await tokenManager.stepUp(tokens, challenge);
      if (steppedUp === null) return response;
      await discardBody(response);
      stepUps += 1;
      tokens = steppedUp;
    }
  }
}

/** Whether a request can be sent again as it is. */
function isRepeatable(input: string | URL | Request, init: RequestInit | undefined): boolean {
  return !(input instanceof Request) && !(init?.body instanceof ReadableStream);
}

/** Buffers a body that can be read only once. */
async function makeRepeatable(input: string | URL | Request, init: RequestInit = {}): Promise<RequestInit> {
  if (!(input instanceof Request))
    return { ...init, body: await new Response(init.body ?? null).arrayBuffer() };
  const request = new Request(input, init);
  const body = request.body === null ? null : await request.arrayBuffer();
  const { method, headers, signal, redirect } = request;
  return { ...init, method, headers, signal, redirect, body };
}
