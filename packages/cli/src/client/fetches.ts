/** The two fetch functions of a command's client: through a proxy if the environment sets one, with network errors explained. */
import { setGlobalProxyFromEnv } from 'node:http';
import { ClientError, defaultClientLimits, type Fetch } from '@portcullis/client';
import { createGuardedFetch, type NodeClientOptions, toClientError } from '@portcullis/client/node';
import { explainConnectionError } from '@portcullis/http';
import { type EgressProxy, readNoProxy, readProxyVariable, usesProxy } from '@portcullis/http/outbound';
import { SettingsError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Proxy environment variables, in upper or lower case. */
const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY'];

/** http is allowed for these hosts because it does not leave this computer: no proxy may read it. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Configures the proxies of the environment for this process. Returns the one for https; `null` if there is none. */
function useProxy({
  environment,
  serverUrl,
}: Pick<FetchTargets, 'environment' | 'serverUrl'>): EgressProxy | null {
  const read = (name: string) => readProxyVariable(environment, name);
  const bypass = [...readNoProxy(environment), ...LOOPBACK];
  try {
    if (PROXY_VARIABLES.some((name) => read(name) !== '')) {
      const direct = listForNode(bypass, serverUrl);
      setGlobalProxyFromEnv({ ...environment, no_proxy: direct, NO_PROXY: direct });
    }
  } catch {
    // The message of the error is the URL, which can contain a password.
    throw new SettingsError([
      'HTTPS_PROXY and HTTP_PROXY must be http or https URLs, such as http://proxy.internal:3128',
    ]);
  }
  const url = read('HTTPS_PROXY');
  return url === '' ? null : { url, bypass };
}

/** Node knows neither blocks nor subdomains of a name without a dot, and reads `*` as every host only when it is the whole list. */
function listForNode(bypass: readonly string[], serverUrl: string): string {
  if (bypass.includes('*')) return '*';
  const url = new URL(serverUrl);
  return [...bypass, ...(usesProxy(url, { url: '', bypass }) ? [] : [url.host])].join(',');
}

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/** The dispatcher of Node's `fetch`, which is another one with a proxy. Earlier versions have it under the second name only. */
function globalDispatcher(): Dispatcher {
  const [newer, older] = [2, 1].map((version) => Symbol.for(`undici.globalDispatcher.${version}`));
  return Reflect.get(globalThis, newer ?? '') ?? Reflect.get(globalThis, older ?? '');
}

/** A tool may run for longer than the five minutes after which `fetch` gives up, and be silent for as long on an event stream. */
const dispatcher = {
  dispatch: (options, handler) =>
    globalDispatcher().dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
} as Dispatcher;

interface FetchTargets {
  readonly serverUrl: string;
  readonly trustedOrigins: readonly string[];
  readonly environment: Environment;
}

/** Creates the fetch for the protected server, and the one with the SSRF guard for authorization servers. */
export function createFetches(
  targets: FetchTargets,
): Required<Pick<NodeClientOptions, 'fetch' | 'oauthFetch' | 'mapFetchError'>> {
  const { environment: _, ...bounds } = targets;
  const fetch = withExplainedErrors((input, init) => globalThis.fetch(input, { ...init, dispatcher }));
  const proxy = useProxy(targets);
  const { timeout, maxBytes } = defaultClientLimits;
  const oauthFetch = createGuardedFetch({
    ...bounds,
    timeout,
    maxBytes,
    ...(proxy !== null && { proxy }),
  });
  return { fetch, oauthFetch: withExplainedErrors(oauthFetch), mapFetchError: toClientError };
}

/** Wraps a fetch so that its network errors name the origin and the reason. */
function withExplainedErrors(fetch: Fetch): Fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      const { origin } = new URL(input instanceof Request ? input.url : input);
      throw explain(error, origin);
    }
  };
}

/** Leaves aborted requests and specific client errors unchanged. */
function explain(error: unknown, origin: string): unknown {
  const guarded = toClientError(error, origin);
  if (guarded !== null && guarded.code !== 'unreachable') return guarded;
  if (guarded === null && !(error instanceof TypeError)) return error;
  const cause = explainConnectionError(error);
  const why = cause === null ? '' : `: ${cause}`;
  if (guarded !== null && why === '') return guarded;
  return new ClientError('unreachable', `${origin} could not be reached${why}.`, { cause: error });
}
