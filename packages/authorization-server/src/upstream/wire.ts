/** The conversation with a third party, in which this server is an OAuth client: each line is asked, and its answer understood. */
import { createOutboundFetch, type OutboundFetch } from '@portcullis/http/outbound';
import { isLoopbackHost, type Scopes } from '@portcullis/protocol';
import * as oauth from 'oauth4webapi';
import type { Configuration } from '../configuration.ts';
import { type Dialect, dialects, isJson, readGranted, translate, withoutIdToken } from './dialects.ts';
import { createDiscovery } from './discovery.ts';
import { checkAway, readFault, ThirdPartyFault } from './fault.ts';
import { readOpenIdPerson, readPerson, type ThirdPartyPerson } from './person.ts';
import { scopesThere, type ThirdParty } from './third-party.ts';
import type { Given, ThirdPartyTokens } from './tokens.ts';

/** Fresh for every departure, known to this server alone until the browser comes back. */
export interface DepartureSecrets {
  readonly verifier: string;
  readonly nonce: string;
}

/** Every method throws `ThirdPartyFault`. */
export interface Wire {
  /** Where the browser is sent. @param ours the scopes of ours that were allowed */
  authorizationUrl(ours: Scopes, isFresh: boolean, state: string, secrets: DepartureSecrets): Promise<string>;
  /** Reads an authorization response and redeems its code: what was given, and to whom. */
  redeem(
    parameters: URLSearchParams,
    ours: Scopes,
    state: string,
    secrets: DepartureSecrets,
  ): Promise<{ readonly given: Given; readonly person: ThirdPartyPerson }>;
  /** @param scopes what was granted so far */
  renew(tokens: ThirdPartyTokens, scopes: Scopes): Promise<Given>;
  /** Whether their token is alive, and still that person's. `unknown`: the third party has no way to say. */
  ask(tokens: ThirdPartyTokens, subject: string): Promise<'alive' | 'dead' | 'changed' | 'unknown'>;
  /** `impossible`: the third party has no way to revoke. */
  revoke(tokens: ThirdPartyTokens): Promise<'revoked' | 'impossible'>;
}

/** What the library sends. */
type Body = URLSearchParams | undefined;

/** The largest answer that is taken. */
const BYTES = 262_144;

export function createWire(configuration: Configuration, thirdParty: ThirdParty): Wire {
  const { clock } = configuration;
  const { provider, clientId } = thirdParty;
  const dialect: Dialect = dialects[provider.protocol === 'oauth' ? provider.dialect : 'standard'];
  const fetch = createSpeech(configuration, thirdParty);
  /** What speaks to the endpoint, and by which clock times are judged. */
  const options = {
    [oauth.customFetch]: (url: string, { body, signal, ...init }: oauth.CustomFetchOptions<string, Body>) =>
      fetch(url, { ...init, ...(body !== undefined && { body }), ...(signal !== undefined && { signal }) }),
    // What may be http is judged by the guarded fetch: loopback only.
    [oauth.allowInsecureRequests]: true,
  };
  const client = (): oauth.Client => ({
    client_id: clientId,
    [oauth.clockSkew]: clock() - Math.floor(Date.now() / 1000),
    [oauth.clockTolerance]: 10,
  });
  const authentication = authenticationOf(thirdParty);
  const findServer = createDiscovery(thirdParty, options, clock);

  /** Asks, translates, understands; whatever goes wrong is a fault of the third party. */
  async function talk<T>(work: (server: oauth.AuthorizationServer) => Promise<T>): Promise<T> {
    try {
      return await work(await findServer());
    } catch (error) {
      throw readFault(error);
    }
  }

  async function readTokens(
    server: oauth.AuthorizationServer,
    answer: Response,
    process: (response: Response) => Promise<oauth.TokenEndpointResponse>,
    asked: Scopes,
  ): Promise<{ readonly given: Given; readonly claims: oauth.IDToken | undefined }> {
    const response = provider.protocol === 'openid' ? answer : await translate(answer, dialect.readToken);
    const body = await process(response);
    const claims = oauth.getValidatedIdTokenClaims(body);
    if (claims !== undefined) await oauth.validateApplicationLevelSignature(server, response, options);
    const given: Given = {
      tokens: {
        accessToken: body.access_token,
        tokenType: 'Bearer',
        refreshToken: body.refresh_token ?? null,
      },
      scopes: readGranted(body.scope, asked),
      lifetime: body.expires_in ?? null,
    };
    if (body.token_type !== 'bearer')
      throw new ThirdPartyFault('misbehaved', 'its token is of a type that was not asked for');
    return { given, claims };
  }

  /** Who the bearer of a token is, in the third party's words. */
  async function askPerson(
    server: oauth.AuthorizationServer,
    accessToken: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const url = server.userinfo_endpoint;
    if (url === undefined) throw new ThirdPartyFault('misbehaved', 'it has no way to say who somebody is');
    const answer = await fetch(url, {
      headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
    });
    const response = provider.protocol === 'openid' ? answer : await translate(answer, dialect.readPerson);
    checkAway(response, clock());
    if (response.status === 401)
      throw new ThirdPartyFault('refused', 'it does not take its token any more', { code: 'invalid_token' });
    const body: unknown = response.status === 200 ? await response.json() : null;
    if (!isJson(body))
      throw new ThirdPartyFault('misbehaved', `it answered with status ${response.status} who somebody is`);
    return body;
  }

  async function identify(
    server: oauth.AuthorizationServer,
    accessToken: string,
    idToken: oauth.IDToken | undefined,
  ): Promise<ThirdPartyPerson> {
    if (provider.protocol === 'oauth') {
      return readPerson(provider.issuer, await askPerson(server, accessToken), provider.person);
    }
    if (idToken === undefined) throw new ThirdPartyFault('misbehaved', 'its answer has no ID token');
    const known = readOpenIdPerson(provider.issuer, idToken);
    if (server.userinfo_endpoint === undefined) return known;
    // It may say more of a person whom the ID token has proven. It MUST be of the same. @see OpenID Connect Core §5.3.2
    const more = await askPerson(server, accessToken).catch(() => null);
    if (more === null) return known;
    if (more['sub'] !== known.subject) throw new ThirdPartyFault('misbehaved', 'it speaks of two people');
    return readOpenIdPerson(provider.issuer, { ...more, ...idToken });
  }

  return {
    authorizationUrl: (ours, isFresh, state, { verifier, nonce }) =>
      talk(async (server) => {
        const url = new URL(server.authorization_endpoint ?? '');
        const parameters = {
          ...thirdParty.parameters,
          ...dialect.scopeParameters(scopesThere(thirdParty, ours)),
          response_type: 'code',
          client_id: clientId,
          redirect_uri: thirdParty.redirectUri,
          state,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(provider.protocol === 'openid' && { nonce, ...(isFresh && { prompt: 'login' }) }),
        };
        for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
        return url.href;
      }),

    redeem: (parameters, ours, state, { verifier, nonce }) =>
      talk(async (server) => {
        const checked = oauth.validateAuthResponse(
          server,
          client(),
          comparable(parameters, thirdParty),
          state,
        );
        const answer = await oauth.authorizationCodeGrantRequest(
          server, client(), authentication, checked, thirdParty.redirectUri, verifier, options,
        ); // biome-ignore format: one list
        const expected = provider.protocol === 'openid' ? { expectedNonce: nonce, requireIdToken: true } : {};
        const process = (response: Response) =>
          oauth.processAuthorizationCodeResponse(server, client(), response, expected);
        const { given, claims } = await readTokens(server, answer, process, scopesThere(thirdParty, ours));
        return { given, person: await identify(server, given.tokens.accessToken, claims) };
      }),

    renew: ({ refreshToken }, scopes) =>
      talk(async (server) => {
        const answer = await oauth.refreshTokenGrantRequest(
          server, client(), authentication, refreshToken ?? '', options,
        ); // biome-ignore format: one list
        const process = (response: Response) => oauth.processRefreshTokenResponse(server, client(), response);
        // Nobody is identified anew: an ID token that does not please must not cost the only copy of a refresh token.
        const { given } = await readTokens(server, await translate(answer, withoutIdToken), process, scopes);
        // A server that issues no new refresh token means the one that it was given. @see RFC 6749 §6
        return {
          ...given,
          tokens: { ...given.tokens, refreshToken: given.tokens.refreshToken ?? refreshToken },
        };
      }),

    ask: ({ accessToken }, subject) =>
      talk(async (server) => {
        const way = thirdParty.status ?? bestWay(server, thirdParty);
        if (way === 'expiry') return 'unknown';
        if (way === 'introspection') {
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
        }
        try {
          const said = await askPerson(server, accessToken);
          const person =
            provider.protocol === 'oauth'
              ? readPerson(provider.issuer, said, provider.person)
              : readOpenIdPerson(provider.issuer, said);
          return person.subject === subject ? 'alive' : 'changed';
        } catch (error) {
          if (error instanceof ThirdPartyFault && error.code === 'invalid_token') return 'dead';
          throw error;
        }
      }),

    revoke: ({ accessToken, refreshToken }) =>
      talk(async (server) => {
        const url = server.revocation_endpoint;
        if (url === undefined) return 'impossible';
        if (dialect.revocation !== null) return revokeTheirWay(dialect.revocation, url, accessToken);
        // With the refresh token goes what was issued on it. @see RFC 7009 §2.1
        const answer = await oauth.revocationRequest(
          server, client(), authentication, refreshToken ?? accessToken,
          { ...options, additionalParameters: { token_type_hint: refreshToken === null ? 'access_token' : 'refresh_token' } },
        ); // biome-ignore format: one list
        await oauth.processRevocationResponse(answer);
        return 'revoked';
      }),
  };

  async function revokeTheirWay(
    way: NonNullable<Dialect['revocation']>,
    endpoint: string,
    token: string,
  ): Promise<'revoked'> {
    const { method, path, body, proof } = way(token, clientId);
    const secret = Buffer.from(`${clientId}:${thirdParty.clientSecret ?? ''}`).toString('base64');
    const answer = await fetch(`${endpoint}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        authorization: proof === 'client' ? `Basic ${secret}` : `Bearer ${token}`,
        ...(body !== null && { 'content-type': 'application/json' }),
      },
      ...(body !== null && { body: JSON.stringify(body) }),
    });
    // What they do not know is revoked already.
    if (answer.ok || answer.status === 404 || answer.status === 422) return 'revoked';
    throw new ThirdPartyFault('misbehaved', `it answered a revocation with status ${answer.status}`);
  }
}

/** The best way that a third party has to say whether a token is alive. */
function bestWay(
  server: oauth.AuthorizationServer,
  { clientSecret }: ThirdParty,
): 'introspection' | 'userinfo' | 'expiry' {
  if (server.introspection_endpoint !== undefined && clientSecret !== null) return 'introspection';
  return server.userinfo_endpoint === undefined ? 'expiry' : 'userinfo';
}

function authenticationOf({ clientSecret, clientAuthentication }: ThirdParty): oauth.ClientAuth {
  if (clientSecret === null) return oauth.None();
  return clientAuthentication === 'client_secret_post'
    ? oauth.ClientSecretPost(clientSecret)
    : oauth.ClientSecretBasic(clientSecret);
}

/** Of whoever has no issuer identifier, one in an answer compares to nothing; each has a redirect URI of its own. */
function comparable(parameters: URLSearchParams, { provider }: ThirdParty): URLSearchParams {
  const copy = new URLSearchParams(parameters);
  if (provider.protocol === 'oauth' && !provider.sendsIssuer) copy.delete('iss');
  return copy;
}

/**
 * The guarded fetch for what the operator named: those origins, wherever they lead, and public ones to which their documents
 * lead. An answer that says that there is none now is an outage.
 */
function createSpeech({ outbound, clock }: Configuration, { provider }: ThirdParty): OutboundFetch {
  const named =
    provider.protocol === 'openid'
      ? [provider.issuer]
      : [provider.issuer, ...Object.values(provider.endpoints)];
  const urls = named.flatMap((text) => URL.parse(text) ?? []);
  const guarded = createOutboundFetch({
    loopback: urls.some(({ hostname }) => isLoopbackHost(hostname)),
    innerOrigins: urls.map(({ origin }) => origin),
    timeout: outbound.timeout,
    maxBytes: BYTES,
  });
  return async (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    // Some refuse whoever does not say who they are.
    headers.set('user-agent', 'Portcullis');
    const response = await guarded(input, { ...init, headers });
    checkAway(response, clock());
    return response;
  };
}
