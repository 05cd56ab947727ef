/** What carries the requests of a command: the system's `fetch`, through a proxy where the environment names one, and why it failed in words. */
import { setGlobalProxyFromEnv } from 'node:http';
import { ClientError, defaultClientLimits, type Fetch } from '@portcullis/client';
import { createGuardedFetch, type NodeClientOptions, toClientError } from '@portcullis/client/node';

type Environment = Readonly<Record<string, string | undefined>>;

/** Names by which a proxy is set; those in small letters count too. */
const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY'];

/** Whether requests of this process go through a proxy. From the first asking on they do. */
function useProxy(environment: Environment): boolean {
  const named = PROXIES.some((name) => (environment[name] ?? environment[name.toLowerCase()] ?? '') !== '');
  if (named) setGlobalProxyFromEnv({ ...environment });
  return named;
}

interface Carried {
  readonly serverUrl: string;
  readonly trustedOrigins: readonly string[];
  readonly environment: Environment;
}

/** The two carriers of a client: one for the protected server, a guarded one for OAuth parties. */
export function carriersOf({
  serverUrl,
  trustedOrigins,
  environment,
}: Carried): Required<Pick<NodeClientOptions, 'fetch' | 'oauthFetch' | 'mapFetchError'>> {
  const fetch = explaining((input, init) => globalThis.fetch(input, init));
  const { timeout, maxBytes } = defaultClientLimits;
  const bounds = { serverUrl, trustedOrigins, timeout, maxBytes };
  const oauthFetch = createGuardedFetch({ ...bounds, ...(useProxy(environment) && { proxyFetch: fetch }) });
  return { fetch, oauthFetch: explaining(oauthFetch), mapFetchError: toClientError };
}

/** The same `fetch`, whose failures say who could not be reached, and why. */
function explaining(fetch: Fetch): Fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      const { origin } = new URL(input instanceof Request ? input.url : input);
      throw explain(error, origin);
    }
  };
}

/** What the caller has ended itself is no failure, and a ClientError says all already. */
function explain(error: unknown, origin: string): unknown {
  const guarded = toClientError(error, origin);
  if (guarded !== null && guarded.code !== 'unreachable') return guarded;
  if (guarded === null && !(error instanceof TypeError)) return error;
  const why = whyOf(error);
  if (guarded !== null && why === '') return guarded;
  return new ClientError('unreachable', `${origin} could not be reached${why}.`, { cause: error });
}

/** Codes of the system and of TLS, in words that say what to look at. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nobody listens there'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'its name is not known'],
  [/TIMEDOUT|TIMEOUT/, 'it did not answer in time'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'it ended the connection'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/ALTNAME/, 'its certificate belongs to another name'],
  [
    /CERT|ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY/,
    'its certificate is of an authority that is not known here: name the authority in NODE_EXTRA_CA_CERTS',
  ],
];

function whyOf(error: unknown): string {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; depth += 1) {
    const code = 'code' in cause ? String(cause.code) : '';
    const known = REASONS.find(([pattern]) => pattern.test(code));
    if (known !== undefined) return `: ${known[1]}`;
    // Several addresses were tried, each in vain.
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return '';
}
