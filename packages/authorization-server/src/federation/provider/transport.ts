/** What all requests to an identity provider share: SSRF-guarded fetch, client authentication, discovery and a concurrency limit. */
import type { OutboundFetch } from '@portcullis/http/outbound';
import { beforeAbort } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import { createNamedFetch } from '../../clients/metadata-document/outbound-settings.ts';
import { providerClientAuthentications } from './client-authentication.ts';
import { createProviderDiscovery, type ServerKind } from './discovery.ts';
import { checkAvailable, IdentityProviderError, toIdentityProviderError } from './error.ts';
import type { FederationContext, IdentityProvider } from './identity-provider.ts';
import { responseFormats } from './response-formats.ts';

export type ProviderTransport = ReturnType<typeof createProviderTransport>;

interface TransportOptions {
  readonly [oauth.customFetch]: (
    url: string,
    init: oauth.CustomFetchOptions<string, URLSearchParams | undefined>,
  ) => Promise<Response>;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** Bytes of the largest response. */
const MAX_RESPONSE_BYTES = 262_144;
/** Concurrent requests per process, so that a slow provider cannot use up all sockets. */
const MAX_CONCURRENT = 100;
/** Exchanges of the longest operation: metadata, tokens, keys, the user, and a revocation if that failed. */
const MAX_EXCHANGES = 5;
/** Seconds by which the provider's clock may differ from ours. */
export const CLOCK_TOLERANCE = 10;

export function createProviderTransport(
  context: FederationContext,
  identityProvider: IdentityProvider,
  kind?: ServerKind,
) {
  const { clock } = context;
  const { outbound } = context.options;
  const { provider, clientId } = identityProvider;
  const discovered = new Set<string>();
  const fetch = createProviderFetch(context, identityProvider, discovered);
  /** Options of the functions of `oauth4webapi`. */
  const options: TransportOptions = {
    [oauth.customFetch]: (url, { body, signal, ...init }) =>
      fetch(url, { ...init, ...(body !== undefined && { body }), ...(signal !== undefined && { signal }) }),
    // The guarded fetch allows http to loopback addresses only.
    [oauth.allowInsecureRequests]: true,
  };
  const findServer = createProviderDiscovery(identityProvider, options, context, kind);
  const limit = MAX_EXCHANGES * outbound.timeout;
  let pending = 0;
  return {
    identityProvider,
    responseFormat: responseFormats[provider.protocol === 'oauth' ? provider.responseFormat : 'standard'],
    fetch,
    options,
    /** Epoch seconds. */
    clock,
    /** Our client at the provider, and the clock by which times are checked. */
    client: (): oauth.Client => ({
      client_id: clientId,
      [oauth.clockSkew]: clock() - Math.floor(Date.now() / 1000),
      [oauth.clockTolerance]: CLOCK_TOLERANCE,
    }),
    authentication: providerClientAuthentications[identityProvider.clientAuthentication].authenticate(
      identityProvider,
      clock,
    ),
    /** Runs requests with the provider's metadata. Everything that fails is an `IdentityProviderError`. */
    async withServer<T>(work: (server: oauth.AuthorizationServer) => Promise<T>): Promise<T> {
      if (pending >= MAX_CONCURRENT) {
        throw new IdentityProviderError('outage', 'too many concurrent requests', { retryAfter: 1 });
      }
      pending += 1;
      try {
        const found = findServer().then((server) => {
          for (const host of hostsOf(server)) discovered.add(host);
          return work(server);
        });
        return await beforeAbort(found, AbortSignal.timeout(limit));
      } catch (error) {
        throw toIdentityProviderError(error);
      } finally {
        pending -= 1;
      }
    },
  };
}

/** Members of the metadata whose URLs are fetched. */
const FETCHED = [
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'introspection_endpoint',
  'revocation_endpoint',
] as const;

/**
 * The hosts of a provider's endpoints, such as `oauth2.googleapis.com`. A proxy resolves their names, as that of the issuer, which the
 * operator has chosen: behind it there may be no public DNS. IP addresses and names of private networks are refused all the same.
 */
function hostsOf(server: oauth.AuthorizationServer): readonly string[] {
  const urls = FETCHED.map((name) => URL.parse(server[name] ?? ''));
  return urls.flatMap((url) => (url === null || /^[\d.]+$|^\[/.test(url.hostname) ? [] : [url.hostname]));
}

/**
 * The SSRF-guarded fetch: it may reach the configured origins, wherever they resolve to, and public addresses that the provider's
 * metadata names. A response that reports the provider as unavailable is an outage.
 */
function createProviderFetch(
  { clock, options: { outbound } }: FederationContext,
  { provider }: IdentityProvider,
  discovered: ReadonlySet<string>,
): OutboundFetch {
  const { proxy } = outbound;
  const named =
    provider.protocol === 'openid'
      ? [provider.issuer]
      : [provider.issuer, ...Object.values(provider.endpoints).filter((url) => url !== undefined)];
  const urls = named.flatMap((text) => URL.parse(text) ?? []);
  const guarded = createNamedFetch(urls, {
    timeout: outbound.timeout,
    proxy: proxy && {
      ...proxy,
      mayResolve: (host) => discovered.has(host) || proxy.mayResolve?.(host) === true,
    },
    maxBytes: MAX_RESPONSE_BYTES,
  });
  return async (input, init) => {
    // Some providers reject requests without it.
    const headers = new Headers(init?.headers);
    headers.set('user-agent', 'Portcullis');
    const response = await guarded(input, { ...init, headers });
    checkAvailable(response, clock());
    return response;
  };
}
