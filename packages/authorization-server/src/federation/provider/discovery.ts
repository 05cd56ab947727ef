/** Finds the endpoints of an identity provider: from the configuration, or from its OpenID Connect discovery document. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import { createCachedDocument } from '../../cached-document.ts';
import { IdentityProviderError, toIdentityProviderError } from './error.ts';
import type { FederationContext, IdentityProvider } from './identity-provider.ts';

/** @throws IdentityProviderError */
type FindServer = () => Promise<oauth.AuthorizationServer>;

/** `oauth2`: an authorization server that needs no user, and whose metadata may be of RFC 8414 only. */
export type ServerKind = 'oidc' | 'oauth2';

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
  return createCachedDocument(() => discover(provider.issuer, options, kind), {
    clock,
    timeout: outbound.timeout,
    mayUseLast: (error) => toIdentityProviderError(error).kind === 'outage',
  });
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
