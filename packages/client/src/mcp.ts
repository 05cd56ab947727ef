/** The client as an `OAuthClientProvider` of the official MCP SDK, 1.x and 2.x, for hosts that cannot pass `fetch` to their transport. */
import type { Client } from './client.ts';
import { ClientError } from './errors.ts';

/** The interface of both SDK versions; neither is imported. */
export interface McpOAuthProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: { readonly redirect_uris: string[]; readonly client_name: string };
  clientInformation(): Promise<{ client_id: string; issuer: string } | undefined>;
  tokens(): Promise<{ access_token: string; token_type: string; scope?: string; issuer: string }>;
  saveTokens(): void;
  redirectToAuthorization(url: URL): Promise<void>;
  saveCodeVerifier(): void;
  codeVerifier(): string;
  invalidateCredentials(): void;
}

/** Never used: the client signs in with its own receiver. */
const UNUSED_REDIRECT_URI = 'http://127.0.0.1/callback';

/**
 * Creates a provider for the `authProvider` option of an SDK transport. Every request carries a token of the client, which
 * signs in, refreshes and stores as usual; the SDK never sees a code or a refresh token, and its `finishAuth` is not
 * needed.
 *
 * Prefer `fetch: client.fetch`: it repeats rejected requests and supports DPoP. With the provider, a request that is
 * rejected in the middle of a session (revoked token, missing scope) makes the client obtain what is missing, but ends with
 * the SDK's `UnauthorizedError`; it succeeds when it is sent again.
 * @throws ClientError from `tokens`, when the user does not sign in, or when the server requires DPoP.
 */
export function createMcpProvider(client: Client): McpOAuthProvider {
  client.preferBearer();
  return {
    redirectUrl: UNUSED_REDIRECT_URI,
    clientMetadata: { redirect_uris: [UNUSED_REDIRECT_URI], client_name: 'Portcullis' },
    async clientInformation() {
      const session = await client.session();
      return session === null ? undefined : { client_id: session.clientId, issuer: session.issuer };
    },
    async tokens() {
      if ((await client.accessToken()) === null) await client.signIn({ automatic: true });
      const accessToken = await client.accessToken();
      const session = await client.session();
      if (accessToken === null || session === null)
        throw new ClientError('sign_in_needed', 'The session ended while it was in use. Connect again.');
      const { scheme, scopes, issuer } = session;
      if (scheme !== 'Bearer') {
        throw new ClientError(
          'configuration_invalid',
          'The token is DPoP-bound, which a provider cannot support: pass `fetch: client.fetch` to the transport.',
        );
      }
      const scope = scopes.length > 0 && { scope: scopes.join(' ') };
      return { access_token: accessToken, token_type: scheme, ...scope, issuer };
    },
    async redirectToAuthorization(url) {
      // Only the requested scopes of the SDK's URL are used.
      const requested =
        url.searchParams
          .get('scope')
          ?.split(' ')
          .filter((scope) => scope !== '') ?? [];
      const had = (await client.session())?.scopes ?? [];
      const missing = requested.some((scope) => scope !== 'offline_access' && !had.includes(scope));
      if (missing) await client.signIn({ scopes: requested, automatic: true });
      else await renew();
    },
    saveTokens: () => undefined,
    saveCodeVerifier: () => undefined,
    codeVerifier() {
      throw new ClientError(
        'sign_in_needed',
        'The client signs in on its own. Connect again instead of finishing an authorization.',
      );
    },
    invalidateCredentials: () => undefined,
  };

  /** An authorized request, which refreshes or signs in where the server rejects the token. */
  async function renew(): Promise<void> {
    const response = await client.fetch(client.server, { headers: { accept: 'text/event-stream' } });
    await response.body?.cancel();
  }
}
