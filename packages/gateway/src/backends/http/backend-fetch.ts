/** Requests to HTTP backends on the message path: no redirects, bounded waiting, the credential on each. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import { isMembers, type TransportFetch, type TransportRequest } from '@portcullis/http';
import { currentTracer } from '@portcullis/protocol';
import type { Dispatcher } from 'undici';
import type { Addresses } from '../../addresses/addresses.ts';
import { connectionFailure } from '../../addresses/connection-failure.ts';
import { withoutContinue } from '../../addresses/connector.ts';
import type { BackendCredential } from '../../credentials/credential-source.ts';
import { namedHeaders } from '../../servers/request.ts';
import type { GatewayServer } from '../../servers/server.ts';
import { type BackendAccess, BackendError } from '../backend.ts';

/**
 * Keep-alive connections to one backend.
 * @param addresses record which of them are reachable
 * @param forward client headers to forward, in lower case
 */
export function createBackendPools(
  { name, limits }: Pick<GatewayServer, 'name' | 'limits'>,
  addresses: Addresses,
  forward: readonly string[] = [],
) {
  let opening: ReturnType<typeof open> | null = null;
  return {
    /** @throws BackendError when there is no response, ConnectionRequired when the user has to connect an account */
    fetchFor:
      (access: BackendAccess): TransportFetch =>
      async (url, request) => {
        const credential = await access.credential();
        const response = await send(url, request, credential);
        if (credential.key === '' || (response.status !== 401 && response.status !== 403)) return response;
        const { status, headers } = response;
        const decision = await access.rejected({ url: url.href, status, headers }, credential);
        if (decision === 'final') return response;
        await response.body?.cancel();
        if (decision !== 'retry') throw decision;
        return send(url, request, await access.credential());
      },
    close: async (): Promise<void> => (await opening)?.dispatcher.destroy(),
  };

  /** Loads undici with the first request, as the pools of addresses do. */
  async function open() {
    const { Agent, buildConnector, fetch } = await import('undici');
    const agent = new Agent({
      connect: withoutContinue(buildConnector({ timeout: limits.connect * 1000 })),
      headersTimeout: limits.firstByte * 1000,
      // An event stream may be silent for long.
      bodyTimeout: 0,
    });
    return { fetch, dispatcher: agent.compose(withoutBrowserHeaders) };
  }

  async function send(
    url: URL,
    { headers, ...request }: TransportRequest,
    credential: BackendCredential,
  ): Promise<Response> {
    const signed = await credential.sign?.(request.method, url.href);
    const all = {
      // Without a request of a client, there are none.
      ...namedHeaders(clientHeaders.getStore() ?? {}, forward),
      ...currentTracer()?.active()?.context,
      ...headers,
      ...credential.headers,
      ...signed,
    };
    opening ??= open();
    const { fetch, dispatcher } = await opening;
    try {
      // A redirect could lead anywhere, with the credential.
      const response = await fetch(url, { ...request, headers: all, redirect: 'manual', dispatcher });
      note(url, null);
      return response as unknown as Response;
    } catch (error) {
      note(url, error);
      const failure = connectionFailure(error) === null ? 'lost' : 'unavailable';
      throw new BackendError(failure, `${name} cannot be reached (${causeOf(error)}).`);
    }
  }

  /** Messages of HTTP+SSE go to another path of the same origin. */
  function note({ origin }: URL, error: unknown): void {
    const failure = connectionFailure(error);
    for (const address of addresses.all) {
      if (address.url.origin !== origin) continue;
      if (error === null) addresses.succeeded(address, performance.now());
      else if (failure !== null) addresses.failed(address, performance.now(), failure);
    }
  }
}

/** Headers that `fetch` adds, as browsers do. The pass-through path does not request compressed responses either. */
const ADDED = /^(?:sec-fetch-mode: cors|accept-language: \*|accept-encoding: .*|user-agent: undici)$/i;

const withoutBrowserHeaders: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const all = Object.entries((options.headers ?? {}) as Readonly<Record<string, string>>);
  const own = all.filter(([name, value]) => !ADDED.test(`${name}: ${value}`));
  return dispatch(
    { ...options, headers: { 'user-agent': 'portcullis', ...Object.fromEntries(own) } },
    handler,
  );
};

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (isMembers(cause) && typeof cause['code'] === 'string') return cause['code'];
  return cause instanceof Error ? cause.message : 'unknown error';
}

const clientHeaders = new AsyncLocalStorage<IncomingHttpHeaders>();

/** Runs a client's request: backend requests sent meanwhile belong to it. */
export function withClientHeaders<T>(headers: IncomingHttpHeaders, handle: () => T): T {
  return clientHeaders.run(headers, handle);
}
