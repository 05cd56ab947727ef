/** The line to a third party: a guarded fetch, our name and proof there, and what everybody who asks something needs. */

import { createOutboundFetch, type OutboundFetch } from '@portcullis/http/outbound';
import { isLoopbackHost } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import type { ServerContext } from '../context.ts';
import { providerClientAuthentications } from './client-authentication.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { createProviderDiscovery } from './provider-discovery.ts';
import { checkAvailable, IdentityProviderError, toIdentityProviderError } from './provider-error.ts';
import { type ResponseFormat, responseFormats } from './response-formats.ts';

export interface ProviderTransport {
  readonly identityProvider: IdentityProvider;
  readonly dialect: ResponseFormat;
  readonly fetch: OutboundFetch;
  /** For the functions of the library. */
  readonly options: LineOptions;
  /** What we are called there, and by which clock times are judged. */
  client(): oauth.Client;
  readonly authentication: oauth.ClientAuth;
  /** Asks something. Whatever goes wrong is a `ThirdPartyFault`. */
  talk<T>(work: (server: oauth.AuthorizationServer) => Promise<T>): Promise<T>;
}

interface LineOptions {
  readonly [oauth.customFetch]: (
    url: string,
    init: oauth.CustomFetchOptions<string, URLSearchParams | undefined>,
  ) => Promise<Response>;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** Bytes of the largest answer that is taken. */
const LARGEST = 262_144;
/** Conversations of one process at a time: what is away and slow must not take all of our sockets and time with it. */
const MOST_AT_ONCE = 100;
/** Seconds by which their clock may differ from ours. */
const SKEW = 10;

export function createProviderTransport(
  context: ServerContext,
  identityProvider: IdentityProvider,
): ProviderTransport {
  const { clock } = context;
  const { provider, clientId } = identityProvider;
  const fetch = createSpeech(context, identityProvider);
  const options: LineOptions = {
    [oauth.customFetch]: (url, { body, signal, ...init }) =>
      fetch(url, { ...init, ...(body !== undefined && { body }), ...(signal !== undefined && { signal }) }),
    // What may be http is judged by the guarded fetch: loopback only.
    [oauth.allowInsecureRequests]: true,
  };
  const findServer = createProviderDiscovery(identityProvider, options, clock);
  let underWay = 0;
  return {
    identityProvider,
    dialect: responseFormats[provider.protocol === 'oauth' ? provider.responseFormat : 'standard'],
    fetch,
    options,
    client: () => ({
      client_id: clientId,
      [oauth.clockSkew]: clock() - Math.floor(Date.now() / 1000),
      [oauth.clockTolerance]: SKEW,
    }),
    authentication: providerClientAuthentications[identityProvider.clientAuthentication].prove(
      identityProvider,
      clock,
    ),
    async talk(work) {
      if (underWay >= MOST_AT_ONCE) {
        throw new IdentityProviderError('outage', 'too much is asked of it at once', { retryAfter: 1 });
      }
      underWay += 1;
      try {
        return await work(await findServer());
      } catch (error) {
        throw toIdentityProviderError(error);
      } finally {
        underWay -= 1;
      }
    },
  };
}

/**
 * The guarded fetch for what the operator named: those origins, wherever they lead, and public ones to which their documents
 * lead. An answer that says that there is none now is an outage.
 */
function createSpeech(
  { clock, options: { outbound } }: ServerContext,
  { provider }: IdentityProvider,
): OutboundFetch {
  const named =
    provider.protocol === 'openid'
      ? [provider.issuer]
      : [provider.issuer, ...Object.values(provider.endpoints)];
  const urls = named.flatMap((text) => URL.parse(text) ?? []);
  const guarded = createOutboundFetch({
    allowLoopback: urls.some(({ hostname }) => isLoopbackHost(hostname)),
    allowedPrivateOrigins: urls.map(({ origin }) => origin),
    timeout: outbound.timeout,
    maxBytes: LARGEST,
  });
  return async (input, init) => {
    // Some refuse whoever does not say what they are.
    const headers = new Headers(init?.headers);
    headers.set('user-agent', 'Portcullis');
    const response = await guarded(input, { ...init, headers });
    checkAvailable(response, clock());
    return response;
  };
}
