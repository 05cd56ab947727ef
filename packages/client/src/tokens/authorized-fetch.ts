/** `fetch` with an access token: for the server's own origin only, renewed when it is refused, widened when it is too narrow. */

import { readServerChallenge } from '../discovery/challenge.ts';
import type { ClientSettings } from '../settings.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import { discard, type Fetch } from '../transport.ts';
import { isRepeatable, makeRepeatable } from './repeatable.ts';
import { createSendWithTokens, type RepeatableRequest } from './send-with-tokens.ts';
import type { RenewedTokens, TokenManager } from './token-manager.ts';

/** A place, parsed once. */
interface Place {
  readonly text: string;
  readonly href: string;
  readonly origin: string;
}

/** Makes the function. */
export function createAuthorizedFetch(
  configuration: ClientSettings,
  access: TokenManager,
  prover: ClientContext,
): Fetch {
  const { fetch, limits, server } = configuration;
  const { origin } = new URL(server);
  const send = createSendWithTokens(configuration, prover);
  /** Callers mostly ask for the same place again. */
  let latest: Place = { text: server, href: server, origin };

  return async function authorizedFetch(input, init) {
    const place = placeOf(input);
    // The token is for this server; whatever goes elsewhere goes without it.
    if (place.origin !== origin) return fetch(input, init);
    const repeatable = isRepeatable(input, init) ? (init ?? {}) : await makeRepeatable(input, init);
    return insist({ href: place.href, init: repeatable }, access.peek() ?? (await access.current()));
  };

  function placeOf(input: string | URL | Request): Place {
    const text = typeof input === 'string' ? input : input instanceof Request ? input.url : input.href;
    if (text !== latest.text) {
      const url = new URL(text);
      latest = { text, href: url.href, origin: url.origin };
    }
    return latest;
  }

  /** Refreshes once if that is possible, else signs in once, then gives up; steps up as often as the limits let. */
  async function insist(call: RepeatableRequest, first: Tokens | null): Promise<Response> {
    let tokens = first;
    const renewals = new Set<RenewedTokens['by']>();
    let stepUps = 0;
    for (;;) {
      const response = await send(call, tokens);
      if (response.status === 401 && !renewals.has('obtained')) {
        const { by, tokens: better } = await renew(response, tokens, !renewals.has('refreshed'));
        // Somebody else's tokens that are refused as well are no reason to go on for ever.
        renewals.add(renewals.has(by) ? 'obtained' : by);
        tokens = better;
        continue;
      }
      if (response.status !== 403 || tokens === null || stepUps >= limits.stepUps) return response;
      const wider = await widen(response, tokens);
      if (wider === null) return response;
      await discard(response);
      stepUps += 1;
      tokens = wider;
    }
  }

  async function renew(
    response: Response,
    refused: Tokens | null,
    mayRefresh: boolean,
  ): Promise<RenewedTokens> {
    const challenge = readServerChallenge(response.headers);
    await discard(response);
    return access.renew(refused, challenge, mayRefresh);
  }

  /** Only a refusal that says `insufficient_scope` is about scopes. */
  async function widen(response: Response, tokens: Tokens): Promise<Tokens | null> {
    const challenge = readServerChallenge(response.headers);
    return challenge.error === 'insufficient_scope' ? access.stepUp(tokens, challenge) : null;
  }
}
