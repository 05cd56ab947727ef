/** The conversation with a third party, in which this server is an OAuth client: each line is asked, and its answer understood. */

import type { Scopes } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import type { ServerContext } from '../context.ts';
import type { FederatedUser } from './federated-user.ts';
import { fetchUser, identifyUser } from './identify-user.ts';
import { type IdentityProvider, upstreamScopesFor } from './identity-provider.ts';
import { IdentityProviderError } from './provider-error.ts';
import { createProviderTransport, type ProviderTransport } from './provider-transport.ts';
import { readGrantedScopes, translateResponse, withoutIdToken } from './response-formats.ts';
import { revokeProviderTokens } from './revoke-provider-tokens.ts';
import type { ProviderTokenResponse, ProviderTokenSet } from './token-set.ts';

/** Fresh for every departure, known to this server alone until the browser comes back. */
export interface FederatedLoginSecrets {
  readonly verifier: string;
  readonly nonce: string;
}

/** Every method throws `ThirdPartyFault`. */
export interface ProviderClient {
  /**
   * Where the browser is sent.
   * @param ours the scopes of ours that were allowed
   * @param isFresh whether the person has to show anew who they are
   */
  authorizationUrl(
    ours: Scopes,
    isFresh: boolean,
    state: string,
    secrets: FederatedLoginSecrets,
  ): Promise<string>;
  /** Reads an authorization response and redeems its code: what was given, and to whom. */
  redeemCode(
    parameters: URLSearchParams,
    ours: Scopes,
    state: string,
    secrets: FederatedLoginSecrets,
  ): Promise<{ readonly given: ProviderTokenResponse; readonly user: FederatedUser }>;
  /** @param scopes what was granted so far */
  refresh(tokens: ProviderTokenSet, scopes: Scopes): Promise<ProviderTokenResponse>;
  /** Whether their token is alive, and still that person's. `unknown`: the third party has no way to say. */
  checkStatus(tokens: ProviderTokenSet, subject: string): Promise<'alive' | 'dead' | 'changed' | 'unknown'>;
  /** `impossible`: the third party has no way to revoke. */
  revoke(tokens: ProviderTokenSet): Promise<'revoked' | 'impossible'>;
}

export function createProviderClient(
  context: ServerContext,
  identityProvider: IdentityProvider,
): ProviderClient {
  const line = createProviderTransport(context, identityProvider);
  const { client, authentication, options, talk } = line;
  const isOpenId = identityProvider.provider.protocol === 'openid';
  return {
    authorizationUrl: (ours, isFresh, state, { verifier, nonce }) =>
      talk(async (server) => {
        const url = new URL(server.authorization_endpoint ?? '');
        const parameters = {
          ...identityProvider.parameters,
          ...line.dialect.scopeParameters(upstreamScopesFor(identityProvider, ours)),
          response_type: 'code',
          ...(identityProvider.responseMode !== 'query' && { response_mode: identityProvider.responseMode }),
          client_id: identityProvider.clientId,
          redirect_uri: identityProvider.redirectUri,
          state,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(isOpenId && { nonce, ...(isFresh && { prompt: 'login' }) }),
        };
        for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
        return url.href;
      }),

    redeemCode: (parameters, ours, state, { verifier, nonce }) =>
      talk(async (server) => {
        const answered = comparable(parameters, identityProvider);
        const checked = oauth.validateAuthResponse(server, client(), answered, state);
        const { redirectUri } = identityProvider;
        const answer = await oauth.authorizationCodeGrantRequest(
          server, client(), authentication, checked, redirectUri, verifier, options,
        ); // biome-ignore format: one list
        const expected = isOpenId ? { expectedNonce: nonce, requireIdToken: true } : {};
        const process: Process = (response) =>
          oauth.processAuthorizationCodeResponse(server, client(), response, expected);
        const { given, idToken } = await readTokens(
          line,
          server,
          answer,
          process,
          upstreamScopesFor(identityProvider, ours),
        );
        const user = await identifyUser(line, server, given.tokens.accessToken, idToken).catch(
          async (error: unknown) => {
            // Nobody knows whose it is, so nobody keeps it.
            await revokeProviderTokens(line, server, given.tokens).catch(() => {});
            throw error;
          },
        );
        return { given, user };
      }),

    refresh: ({ refreshToken }, scopes) =>
      talk(async (server) => {
        const old = refreshToken ?? '';
        const answer = await oauth.refreshTokenGrantRequest(server, client(), authentication, old, options);
        const process: Process = (response) => oauth.processRefreshTokenResponse(server, client(), response);
        // Nobody is identified anew: an ID token that does not please must not cost the only copy of a refresh token.
        const proofless = await translateResponse(answer, withoutIdToken);
        const { given } = await readTokens(line, server, proofless, process, scopes);
        // A server that issues no new refresh token means the one that it was given. @see RFC 6749 §6
        const tokens = { ...given.tokens, refreshToken: given.tokens.refreshToken ?? refreshToken };
        return { ...given, tokens };
      }),

    checkStatus: ({ accessToken }, subject) =>
      talk(async (server) => {
        const way = identityProvider.status ?? bestWay(server, identityProvider);
        if (way === 'expiry') return 'unknown';
        if (way === 'userinfo') return askUser(line, server, accessToken, subject);
        const answer = await oauth.introspectionRequest(
          server,
          client(),
          authentication,
          accessToken,
          options,
        );
        const { active, sub } = await oauth.processIntrospectionResponse(server, client(), answer);
        if (!active) return 'dead';
        return sub === undefined || sub === subject ? 'alive' : 'changed';
      }),

    revoke: (tokens) => talk((server) => revokeProviderTokens(line, server, tokens)),
  };
}

type Process = (response: Response) => Promise<oauth.TokenEndpointResponse>;

/** What an answer of the token endpoint gives; an ID token in it has been verified. */
async function readTokens(
  { identityProvider, dialect, options }: ProviderTransport,
  server: oauth.AuthorizationServer,
  answer: Response,
  process: Process,
  asked: Scopes,
): Promise<{ readonly given: ProviderTokenResponse; readonly idToken: oauth.IDToken | undefined }> {
  const isOpenId = identityProvider.provider.protocol === 'openid';
  const response = isOpenId ? answer : await translateResponse(answer, dialect.readToken);
  const body = await process(response);
  if (body.token_type !== 'bearer') {
    throw new IdentityProviderError('misbehaved', 'its token is of a type that was not asked for');
  }
  const idToken = oauth.getValidatedIdTokenClaims(body);
  if (idToken !== undefined) await oauth.validateApplicationLevelSignature(server, response, options);
  const given: ProviderTokenResponse = {
    tokens: { accessToken: body.access_token, tokenType: 'Bearer', refreshToken: body.refresh_token ?? null },
    scopes: readGrantedScopes(body.scope, asked),
    lifetime: body.expires_in ?? null,
  };
  return { given, idToken };
}

async function askUser(
  line: ProviderTransport,
  server: oauth.AuthorizationServer,
  accessToken: string,
  subject: string,
): Promise<'alive' | 'dead' | 'changed'> {
  try {
    return (await fetchUser(line, server, accessToken)).subject === subject ? 'alive' : 'changed';
  } catch (error) {
    if (error instanceof IdentityProviderError && error.code === 'invalid_token') return 'dead';
    throw error;
  }
}

/** The best way that a third party has to say whether a token is alive. */
function bestWay(
  server: oauth.AuthorizationServer,
  { clientAuthentication }: IdentityProvider,
): 'introspection' | 'userinfo' | 'expiry' {
  if (server.introspection_endpoint !== undefined && clientAuthentication !== 'none') return 'introspection';
  return server.userinfo_endpoint === undefined ? 'expiry' : 'userinfo';
}

/** Of whoever has no issuer identifier, one in an answer compares to nothing; each has a redirect URI of its own. */
function comparable(parameters: URLSearchParams, { provider }: IdentityProvider): URLSearchParams {
  const copy = new URLSearchParams(parameters);
  if (provider.protocol === 'oauth' && !provider.sendsIssuer) copy.delete('iss');
  return copy;
}
