/** What authorizes this receiver at a transmitter: a fixed access token, or tokens by client credentials that are renewed. */
import { isMembers, parseStrictJson } from '@portcullis/http';
import type { OutboundFetch } from '@portcullis/http/outbound';
import { coversResource, isSecureUrl, parseChallenges, readWebUrl } from '@portcullis/protocol';
import { readProtectedResourceMetadata } from '@portcullis/protocol/documents';
import * as oauth from 'oauth4webapi';
import { IdentityProviderError } from '../federation/provider/error.ts';
import type {
  FederationContext,
  IdentityProvider,
  SharedSignalsClient,
} from '../federation/provider/identity-provider.ts';
import { createProviderTransport, type ProviderTransport } from '../federation/provider/transport.ts';
import { createSingleFlight } from '../single-flight.ts';

export interface StreamAccess {
  /** The access token to send; `null`: none is known yet, and the challenge of the transmitter comes first. @throws Error */
  token(): Promise<string | null>;
  /**
   * The transmitter rejected a request with this token.
   * @param headers of its response
   * @returns whether there is another token @throws Error
   */
  renew(url: string, rejected: string | null, headers: Headers): Promise<boolean>;
}

/** Both: a transmitter need not know that `ssf.manage` includes the other. @see CAEP Interoperability Profile 1.0 §2.7 */
const SCOPE = 'ssf.read ssf.manage';
/** Seconds before its expiry in which a token is renewed, but no more than a tenth of its lifetime. */
const RENEWED_BEFORE = 30;

export function fixedAccess(token: string | null): StreamAccess {
  return { token: async () => token, renew: async () => false };
}

interface AccessToken {
  readonly value: string;
  /** Epoch seconds; `null`: when it is rejected. */
  readonly renewedAt: number | null;
}

/** @param fetch for the protected resource metadata of the transmitter */
export function createClientAccess(
  context: FederationContext,
  identityProvider: IdentityProvider,
  client: SharedSignalsClient,
  fetch: OutboundFetch,
): StreamAccess {
  const { authorizationServer: issuer, ...credentials } = client;
  const transport = createProviderTransport(
    context,
    { ...identityProvider, ...credentials, provider: { protocol: 'openid', issuer } },
    'oauth2',
  );
  const singleFlight = createSingleFlight<AccessToken>(context.options.outbound.timeout);
  /** The resource of the transmitter, if its challenge named one; `undefined`: not challenged yet. */
  let resource: string | null | undefined;
  let current: AccessToken | null = null;

  const obtain = async (find: () => Promise<string | null>): Promise<AccessToken> => {
    current = await singleFlight.run(issuer, async () => {
      resource = await find();
      return requestToken(transport, issuer, resource).catch((error: unknown) => {
        throw new Error(`authorization server: ${error instanceof Error ? error.message : 'no response'}`);
      });
    });
    return current;
  };

  return {
    async token() {
      if (resource === undefined) return null;
      const known = resource;
      const isValid = current !== null && (current.renewedAt === null || context.clock() < current.renewedAt);
      return (isValid && current !== null ? current : await obtain(async () => known)).value;
    },
    async renew(url, rejected, headers) {
      // A concurrent request may have replaced it already.
      if (current === null || current.value === rejected)
        await obtain(() => findResource(fetch, issuer, url, headers));
      return true;
    },
  };
}

/**
 * The resource of the transmitter by its protected resource metadata. A transmitter without metadata gets a token that names none.
 * Metadata never chooses the authorization server: a transmitter could name one that collects secrets.
 * @see RFC 9728 §3.3, §5.1, §7.6
 */
async function findResource(
  fetch: OutboundFetch,
  issuer: string,
  url: string,
  headers: Headers,
): Promise<string | null> {
  const named = parseChallenges(headers.get('www-authenticate'))
    .map(({ parameters }) => parameters.get('resource_metadata'))
    .find((one) => one !== undefined);
  if (named === undefined) return null;
  const location = readWebUrl(named);
  if (location === null || !isSecureUrl(location)) throw new Error('its challenge names no https metadata');
  const response = await fetch(location.href, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`its resource metadata responded with status ${response.status}`);
  const json = parseStrictJson(text);
  const read = readProtectedResourceMetadata(isMembers(json) ? json : {});
  if (!('document' in read)) throw new Error('its resource metadata is invalid');
  const { resource, authorization_servers: servers } = read.document;
  if (!coversResource(resource, url)) throw new Error('its resource metadata describes another resource');
  if (!servers.includes(issuer)) {
    const [first = ''] = servers;
    throw new Error(`its authorization server is ${first.slice(0, 200)}, not ${issuer}`);
  }
  return resource;
}

/** @see RFC 6749 §4.4 */
function requestToken(
  { withServer, client, authentication, options, clock }: ProviderTransport,
  issuer: string,
  resource: string | null,
): Promise<AccessToken> {
  return withServer(async (server) => {
    // The secret is for the authorization server that the operator named.
    if (URL.parse(server.token_endpoint ?? '')?.origin !== new URL(issuer).origin)
      throw new IdentityProviderError('misbehaved', 'its token endpoint has another origin');
    const parameters = { scope: SCOPE, ...(resource !== null && { resource }) };
    const response = await oauth.clientCredentialsGrantRequest(
      server, client(), authentication, parameters, options,
    ); // biome-ignore format: one list
    // The error is in the body; the library would read the challenge beside it only.
    const headers = new Headers(response.headers);
    headers.delete('www-authenticate');
    const unchallenged = new Response(response.body, { status: response.status, headers });
    const body = await oauth.processClientCredentialsResponse(server, client(), unchallenged);
    if (body.token_type !== 'bearer')
      throw new IdentityProviderError('misbehaved', 'its token is not a bearer token');
    const lifetime = body.expires_in;
    const renewedAt =
      lifetime === undefined ? null : clock() + lifetime - Math.min(RENEWED_BEFORE, lifetime / 10);
    return { value: body.access_token, renewedAt };
  });
}
