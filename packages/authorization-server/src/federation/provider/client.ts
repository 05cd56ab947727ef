/** The OAuth client of an identity provider: authorization URL, code exchange, refresh, status check and revocation. */
import type { Scopes } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import { IdentityProviderError } from './error.ts';
import type { FederatedUser } from './federated-user.ts';
import { renewIdToken } from './id-tokens.ts';
import { fetchUser, identifyUser } from './identify-user.ts';
import type { FederationContext } from './identity-provider.ts';
import { type IdentityProvider, promptForLogin, upstreamScopesFor } from './identity-provider.ts';
import { readGrantedScopes, translateResponse, withoutIdToken } from './response-formats.ts';
import { revokeProviderTokens } from './revoke-provider-tokens.ts';
import type { ProviderTokenResponse, ProviderTokenSet } from './token-set.ts';
import { createProviderTransport, type ProviderTransport } from './transport.ts';

/** New for each federated login, and secret until the callback. */
export interface FederatedLoginSecrets {
  readonly verifier: string;
  readonly nonce: string;
  /** The issuer that it was started at; missing if version 0.1.0 started it, which may run beside this one. */
  readonly issuer?: string;
}

/** Every method throws `IdentityProviderError`. */
export interface ProviderClient {
  /**
   * The URL of the authorization request.
   * @param approvedScopes scopes of this server that the user approved
   * @param forceLogin whether the user must log in again even with a session at the provider
   */
  authorizationUrl(
    approvedScopes: Scopes,
    forceLogin: boolean,
    state: string,
    secrets: FederatedLoginSecrets,
  ): Promise<string>;
  /** Validates the authorization response, redeems its code and identifies the user. */
  redeemCode(
    parameters: URLSearchParams,
    approvedScopes: Scopes,
    state: string,
    secrets: FederatedLoginSecrets,
  ): Promise<{ readonly tokenResponse: ProviderTokenResponse; readonly user: FederatedUser }>;
  /** @param scopes granted so far */
  refresh(tokens: ProviderTokenSet, scopes: Scopes): Promise<ProviderTokenResponse>;
  /** Whether the token is alive and still of that user. `unknown`: the provider offers no way to check. */
  checkStatus(tokens: ProviderTokenSet, subject: string): Promise<'alive' | 'dead' | 'changed' | 'unknown'>;
  /** `unsupported`: the provider has no revocation endpoint. */
  revoke(tokens: ProviderTokenSet): Promise<'revoked' | 'unsupported'>;
}

export function createProviderClient(
  context: FederationContext,
  identityProvider: IdentityProvider,
): ProviderClient {
  const transport = createProviderTransport(context, identityProvider);
  const { client, authentication, options, withServer } = transport;
  const isOpenId = identityProvider.provider.protocol === 'openid';
  return {
    authorizationUrl: (approvedScopes, forceLogin, state, { verifier, nonce }) =>
      withServer(async (server) => {
        const url = new URL(server.authorization_endpoint ?? '');
        const parameters = {
          ...identityProvider.parameters,
          ...transport.responseFormat.scopeParameters(upstreamScopesFor(identityProvider, approvedScopes)),
          response_type: 'code',
          ...(identityProvider.responseMode !== 'query' && { response_mode: identityProvider.responseMode }),
          client_id: identityProvider.clientId,
          redirect_uri: identityProvider.redirectUri,
          state,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(isOpenId && { nonce, ...(forceLogin && { prompt: promptForLogin(identityProvider) }) }),
        };
        for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
        return url.href;
      }),

    redeemCode: (parameters, approvedScopes, state, { verifier, nonce, issuer }) =>
      withServer(async (server) => {
        // A code of the issuer that was configured before.
        if (issuer !== undefined && issuer !== identityProvider.provider.issuer)
          throw new IdentityProviderError('misbehaved', 'the login was started at another issuer');
        const comparable = withComparableIssuer(parameters, identityProvider);
        const checked = oauth.validateAuthResponse(server, client(), comparable, state);
        const { redirectUri } = identityProvider;
        const response = await oauth.authorizationCodeGrantRequest(
          server, client(), authentication, checked, redirectUri, verifier, options,
        ); // biome-ignore format: one list
        const expected = isOpenId ? { expectedNonce: nonce, requireIdToken: true } : {};
        const process: Process = (response) =>
          oauth.processAuthorizationCodeResponse(server, client(), response, expected);
        const { tokenResponse, idToken } = await readTokens(transport, server, response, process, {
          scopes: upstreamScopesFor(identityProvider, approvedScopes),
          refreshToken: null,
        });
        const user = await identifyUser(transport, server, tokenResponse.tokens.accessToken, idToken).catch(
          async (error: unknown) => {
            // Without a user these tokens can be neither used nor revoked later, nor is it known which grants share them.
            if (identityProvider.revocationEnds !== 'everything')
              await revokeProviderTokens(transport, server, tokenResponse.tokens).catch(() => {});
            throw error;
          },
        );
        return { tokenResponse, user };
      }),

    refresh: ({ refreshToken, idToken }, scopes) =>
      withServer(async (server) => {
        const response = await oauth.refreshTokenGrantRequest(
          server, client(), authentication, refreshToken ?? '', options,
        ); // biome-ignore format: one list
        const process: Process = (response) => oauth.processRefreshTokenResponse(server, client(), response);
        const copy = response.clone();
        // The user is not identified again: an invalid ID token must not cost the only copy of the new refresh token.
        const withoutId = await translateResponse(response, withoutIdToken);
        const { tokenResponse } = await readTokens(transport, server, withoutId, process, {
          scopes,
          refreshToken,
        });
        const tokens = {
          ...tokenResponse.tokens,
          ...(idToken !== undefined && { idToken: await renewIdToken(transport, server, copy, idToken) }),
        };
        return { ...tokenResponse, tokens };
      }),

    checkStatus: ({ accessToken }, subject) =>
      withServer(async (server) => {
        const method = identityProvider.status ?? bestStatusMethod(server, identityProvider);
        if (method === 'expiry') return 'unknown';
        if (method === 'userinfo') return checkUserinfo(transport, server, accessToken, subject);
        const response = await oauth.introspectionRequest(
          server,
          client(),
          authentication,
          accessToken,
          options,
        );
        const introspected = await oauth.processIntrospectionResponse(server, client(), response);
        if (!introspected.active) return 'dead';
        const user = introspected[identityProvider.introspectionSubject];
        if (user === undefined || user === subject) return 'alive';
        return (await isOfAnotherUser(transport, server, accessToken, subject)) ? 'changed' : 'alive';
      }),

    revoke: (tokens) => withServer((server) => revokeProviderTokens(transport, server, tokens)),
  };
}

type Process = (response: Response) => Promise<oauth.TokenEndpointResponse>;

/**
 * Reads a token response; the signature of an ID token in it is verified.
 * @param before the scopes requested, or granted so far, and the refresh token: without a new one it stays valid (RFC 6749 §6)
 */
async function readTokens(
  { identityProvider, responseFormat, options }: ProviderTransport,
  server: oauth.AuthorizationServer,
  received: Response,
  process: Process,
  before: { readonly scopes: Scopes; readonly refreshToken: string | null },
): Promise<{ readonly tokenResponse: ProviderTokenResponse; readonly idToken: oauth.IDToken | undefined }> {
  const isOpenId = identityProvider.provider.protocol === 'openid';
  const response = isOpenId ? received : await translateResponse(received, responseFormat.readToken);
  const body = await process(response);
  if (body.token_type !== 'bearer') {
    throw new IdentityProviderError('misbehaved', 'its token is not a bearer token');
  }
  const idToken = oauth.getValidatedIdTokenClaims(body);
  if (idToken !== undefined) await oauth.validateApplicationLevelSignature(server, response, options);
  const refreshToken = body.refresh_token ?? before.refreshToken;
  const tokenResponse: ProviderTokenResponse = {
    tokens: {
      accessToken: body.access_token,
      tokenType: 'Bearer',
      refreshToken,
      ...(idToken !== undefined && body.id_token !== undefined && { idToken: body.id_token }),
    },
    scopes: readGrantedScopes(body.scope, before.scopes, refreshToken !== null),
    lifetime: body.expires_in ?? null,
  };
  return { tokenResponse, idToken };
}

async function checkUserinfo(
  transport: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
  subject: string,
): Promise<'alive' | 'dead' | 'changed'> {
  try {
    return (await fetchUser(transport, server, accessToken)).subject === subject ? 'alive' : 'changed';
  } catch (error) {
    if (error instanceof IdentityProviderError && error.code === 'invalid_token') return 'dead';
    throw error;
  }
}

/**
 * Introspection may name a user otherwise than the ID token does, by login name for example; userinfo MUST NOT. So only a userinfo
 * response names another user, and one that is missing concludes nothing: the token is active.
 * @see RFC 7662 §2.2, OpenID Connect Core 1.0 §5.3.2
 */
async function isOfAnotherUser(
  transport: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
  subject: string,
): Promise<boolean> {
  const user = await fetchUser(transport, server, accessToken).catch(() => null);
  return user !== null && user.subject !== subject;
}

/** The best method that a provider supports to check whether a token is alive. */
function bestStatusMethod(
  server: oauth.AuthorizationServer,
  { clientAuthentication }: IdentityProvider,
): 'introspection' | 'userinfo' | 'expiry' {
  if (server.introspection_endpoint !== undefined && clientAuthentication !== 'none') return 'introspection';
  return server.userinfo_endpoint === undefined ? 'expiry' : 'userinfo';
}

/**
 * Mix-up attack: `iss` is compared with the configured issuer (RFC 9207 §2.4). A provider without a known issuer identifier has
 * nothing to compare with; its redirect URI, which no other provider has, protects it.
 */
function withComparableIssuer(parameters: URLSearchParams, { provider }: IdentityProvider): URLSearchParams {
  const copy = new URLSearchParams(parameters);
  if (provider.protocol === 'oauth' && !provider.sendsIssuer) copy.delete('iss');
  return copy;
}
