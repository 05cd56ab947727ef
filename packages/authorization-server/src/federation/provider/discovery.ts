/** Finds the endpoints of an identity provider: from the configuration, or from its OpenID Connect discovery document. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import { createSingleFlight } from '../../single-flight.ts';
import { isAhead } from '../../wrong-clock.ts';
import { IdentityProviderError, toIdentityProviderError } from './error.ts';
import type { FederationContext, IdentityProvider } from './identity-provider.ts';

/** @throws IdentityProviderError */
type FindServer = () => Promise<oauth.AuthorizationServer>;

/** `oauth2`: an authorization server that needs no user, and whose metadata may be of RFC 8414 only. */
export type ServerKind = 'oidc' | 'oauth2';

/** Seconds for which a document is cached. */
const MAX_AGE = 3600;

/**
 * While the provider is down, a cached document stays in use: its endpoints rarely change.
 */
export function createProviderDiscovery(
  { provider }: IdentityProvider,
  options: oauth.HttpRequestOptions<'GET'>,
  { clock, options: { outbound } }: Pick<FederationContext, 'clock' | 'options'>,
  kind: ServerKind = 'oidc',
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
  const singleFlight = createSingleFlight<oauth.AuthorizationServer>(outbound.timeout);
  let known: { readonly server: oauth.AuthorizationServer; readonly at: number } | null = null;
  return async () => {
    const now = clock();
    if (known !== null && now - known.at < MAX_AGE && !isAhead(known.at, now)) return known.server;
    try {
      const server = await singleFlight.run(provider.issuer, () => discover(provider.issuer, options, kind));
      known = { server, at: clock() };
      return server;
    } catch (error) {
      if (known !== null && toIdentityProviderError(error).kind === 'outage') return known.server;
      throw error;
    }
  };
}

/**
 * The `issuer` of the document MUST be identical to the configured issuer.
 * @see OpenID Connect Discovery 1.0 §4.3, RFC 8414 §3 and §5
 */
async function discover(
  issuer: string,
  options: oauth.HttpRequestOptions<'GET'>,
  kind: ServerKind,
): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  const request = (algorithm: ServerKind) => oauth.discoveryRequest(url, { ...options, algorithm });
  const first = await request(kind);
  const response = kind === 'oauth2' && first.status === 404 ? await request('oidc') : first;
  const server = await oauth.processDiscoveryResponse(url, response);
  const endpoint = readWebUrl(server.authorization_endpoint ?? '');
  if (kind === 'oidc' && (endpoint === null || !isSecureUrl(endpoint))) {
    throw new IdentityProviderError('misbehaved', 'its authorization endpoint is not an https URL');
  }
  return server;
}
