/** The client as an `OAuthClientProvider` of the official SDK, 1.x and 2.x, for hosts that cannot give a `fetch` to their transport. */
import type { Client } from './client.ts';
import { ClientError } from './errors.ts';

/** The provider in the words of both versions of the SDK; nothing of either is imported. */
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

/** Nothing ever arrives there: the client signs in with a receiver of its own. */
const NOWHERE = 'http://127.0.0.1/callback';

/**
 * Makes a provider for `authProvider` of a transport of the SDK. Every request carries a token of the client, which
 * signs in, refreshes, and keeps what it got as it always does; the SDK never sees a code or a refresh token, and its
 * `finishAuth` is not needed.
 *
 * `fetch: client.fetch` is the stronger way: it repeats by itself what was refused, and knows tokens that are bound to
 * a key. With the provider, a call that is refused in the middle of a session (revoked token, missing scope) makes the
 * client ask for what is missing, and then ends with the SDK's `UnauthorizedError`: the same call succeeds when it is
 * made again.
 * @throws ClientError from `tokens`, when nobody signs in, or when the server demands tokens bound to a key.
 */
export function createMcpProvider(client: Client): McpOAuthProvider {
  return {
    redirectUrl: NOWHERE,
    clientMetadata: { redirect_uris: [NOWHERE], client_name: 'Portcullis' },
    async clientInformation() {
      const session = await client.session();
      return session === null ? undefined : { client_id: session.clientId, issuer: session.issuer };
    },
    async tokens() {
      if ((await client.accessToken()) === null) await client.signIn();
      const accessToken = await client.accessToken();
      const session = await client.session();
      if (accessToken === null || session === null)
        throw new ClientError('sign_in_needed', 'The session ended while it was used. Connect again.');
      const { scheme, scopes, issuer } = session;
      if (scheme !== 'Bearer') {
        throw new ClientError(
          'configuration_invalid',
          'The token is bound to a key, which a provider cannot prove: give the transport `fetch: client.fetch`.',
        );
      }
      const scope = scopes.length > 0 && { scope: scopes.join(' ') };
      return { access_token: accessToken, token_type: scheme, ...scope, issuer };
    },
    async redirectToAuthorization(url) {
      // The address itself is of no use; what it asks for is.
      const wanted =
        url.searchParams
          .get('scope')
          ?.split(' ')
          .filter((scope) => scope !== '') ?? [];
      const had = (await client.session())?.scopes ?? [];
      const missing = wanted.some((scope) => scope !== 'offline_access' && !had.includes(scope));
      if (missing) await client.signIn({ scopes: wanted });
      else await renew();
    },
    saveTokens: () => undefined,
    saveCodeVerifier: () => undefined,
    codeVerifier() {
      throw new ClientError(
        'sign_in_needed',
        'The client signs in by itself. Instead of finishing an authorization, connect again.',
      );
    },
    invalidateCredentials: () => undefined,
  };

  /** A request by the client's own way, which refreshes or signs in where the server refuses the token. */
  async function renew(): Promise<void> {
    const response = await client.fetch(client.server, { headers: { accept: 'text/event-stream' } });
    await response.body?.cancel();
  }
}
