/** Where the endpoints of a third party are: as the operator wrote, or as its own document says. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import { createSingleFlight } from '../single-flight.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider-error.ts';

/** Finds the third party's metadata. Throws `ThirdPartyFault`. */
type FindServer = () => Promise<oauth.AuthorizationServer>;

/** Seconds for which a document is believed without asking again. */
const FRESH = 3600;

/**
 * A document that was read once stays in use while the third party cannot be asked for it: its endpoints rarely move.
 * @param clock epoch seconds
 */
export function createProviderDiscovery(
  { provider }: IdentityProvider,
  options: oauth.HttpRequestOptions<'GET'>,
  clock: () => number,
): FindServer {
  if (provider.protocol === 'oauth') {
    const { endpoints, issuer } = provider;
    const server: oauth.AuthorizationServer = {
      issuer,
      authorization_endpoint: endpoints.authorization,
      token_endpoint: endpoints.token,
      userinfo_endpoint: endpoints.userinfo,
      ...(endpoints.introspection !== undefined && { introspection_endpoint: endpoints.introspection }),
      ...(endpoints.revocation !== undefined && { revocation_endpoint: endpoints.revocation }),
    };
    return async () => server;
  }
  const singleFlight = createSingleFlight<oauth.AuthorizationServer>();
  let known: { readonly server: oauth.AuthorizationServer; readonly at: number } | null = null;
  return async () => {
    if (known !== null && clock() - known.at < FRESH) return known.server;
    try {
      const server = await singleFlight.run(provider.issuer, () => discover(provider.issuer, options));
      known = { server, at: clock() };
      return server;
    } catch (error) {
      if (known !== null && toIdentityProviderError(error).kind === 'outage') return known.server;
      throw error;
    }
  };
}

/** The `issuer` of the document MUST be the one that it was asked of. @see OpenID Connect Discovery §4.3 */
async function discover(
  issuer: string,
  options: oauth.HttpRequestOptions<'GET'>,
): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { ...options, algorithm: 'oidc' });
  const server = await oauth.processDiscoveryResponse(url, response);
  const leave = readWebUrl(server.authorization_endpoint ?? '');
  if (leave === null || !isSecureUrl(leave)) {
    throw new IdentityProviderError('misbehaved', 'its authorization endpoint is no https URL');
  }
  return server;
}
