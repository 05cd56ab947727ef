/** The protocol steps: complete sign-ins with a transport of the test, without the client's own. */
import { request } from 'node:http';
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import type { ClientErrorCode, DiscoveryResult, Registration, Tokens } from '../src/index.ts';
import {
  authenticatedRequest,
  authorizationRequest,
  buildDiscoveryResult,
  type ClientContext,
  challengeRequest,
  clientCredentialsTokenRequest,
  codeTokenRequest,
  createClientContext,
  createDpopKey,
  findPreregistered,
  metadataDocumentRegistration,
  type OAuthRequest,
  type OAuthResponse,
  planScopes,
  processAuthorizationResponse,
  processChallengeResponse,
  processProtectedResourceResponse,
  processRegistrationResponse,
  processResourceMetadataResponse,
  processRevocationResponse,
  processServerMetadataResponse,
  processTokenResponse,
  protectedResourceHeaders,
  refreshTokenRequest,
  registrationRequest,
  resourceMetadataRequests,
  revocationRequests,
  selectProfile,
  serverMetadataRequests,
  type TokenRequest,
} from '../src/steps.ts';
import { codeOf, createWorld, refusal, type World, type WorldSettings } from './support/world.ts';

/** A transport without `fetch`. */
function send({ url, method, headers, body }: OAuthRequest): Promise<OAuthResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({
        status: response.statusCode ?? 0,
        headers: new Headers(
          Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
        ),
        body: Buffer.concat(chunks).toString(),
      });
    });
    sent.on('error', reject).end(body ?? undefined);
  });
}

/** The first document found; locations are requested in order. */
async function findFirst<T>(
  requests: readonly OAuthRequest[],
  process: (request: OAuthRequest, response: OAuthResponse) => T | null,
): Promise<T | null> {
  for (const request of requests) {
    const found = process(request, await send(request));
    if (found !== null) return found;
  }
  return null;
}

async function discover(server: string): Promise<DiscoveryResult> {
  const challenge = processChallengeResponse(await send(challengeRequest(server)));
  const document = await findFirst(resourceMetadataRequests(server, challenge), (request, response) =>
    processResourceMetadataResponse(request, response, server),
  );
  const selection = selectProfile(server, challenge, document);
  const { profile } = selection;
  const [issuer = ''] = selection.issuers;
  const metadata = await findFirst(serverMetadataRequests(issuer, profile), (request, response) =>
    processServerMetadataResponse(request, response, issuer, profile),
  );
  return buildDiscoveryResult(selection, issuer, metadata);
}

async function register(discovery: DiscoveryResult, redirectUris: readonly string[]): Promise<Registration> {
  const request = registrationRequest(discovery, { clientName: 'By hand' }, redirectUris);
  if (request === null) throw new Error('dynamic registration is not supported');
  return processRegistrationResponse(request, await send(request));
}

/** Requests tokens as often as the server requires; returns the number of requests too. */
async function fetchTokens(
  context: ClientContext,
  request: TokenRequest,
): Promise<{ tokens: Tokens; requests: number }> {
  for (let requests = 1; requests < 10; requests += 1) {
    const response = await send(await authenticatedRequest(context, request));
    const result = processTokenResponse(context, request, response);
    if (result.kind === 'tokens') return { tokens: result.tokens, requests };
  }
  throw new Error('no tokens');
}

/** Calls the protected server once; returns what the response means. */
async function call(context: ClientContext, tokens: Tokens, url: string): Promise<string> {
  const headers = await protectedResourceHeaders(context, tokens, { method: 'GET', url });
  const response = await send({ url, method: 'GET', headers, body: null });
  return processProtectedResourceResponse(context, url, response).kind;
}

async function signIn(world: World, discovery: DiscoveryResult, settings: { bound?: boolean } = {}) {
  const context = createClientContext();
  const { redirectUri } = world.user;
  const registration = await register(discovery, [redirectUri]);
  const { scopes } = planScopes(discovery, {});
  const dpopKey = settings.bound ? await createDpopKey() : null;
  const { url, pending } = await authorizationRequest({
    discovery,
    registration,
    redirectUri,
    scopes,
    dpopKey,
  });
  const redirectedTo = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
  const code = processAuthorizationResponse(redirectedTo, pending);
  const { tokens, requests } = await fetchTokens(context, codeTokenRequest(pending, code));
  return { context, registration, tokens, requests };
}

describe('a user at a browser', () => {
  it.each<[string, WorldSettings]>([
    ['with metadata of both servers', { challengeScopes: 'notes:read' }],
    ['of the oldest revision, by the default paths', { ...oldest(), serverMetadata: false }],
    ['of the oldest revision, by metadata', oldest()],
  ])('discovers, registers, signs in, calls, refreshes and revokes: a server %s', async (_what, settings) => {
    const world = await createWorld({
      ...settings,
      metadata: { revocation_endpoint: undefined },
    });
    const discovery = await discover(world.serverUrl);
    const { context, registration, tokens } = await signIn(world, discovery);
    expect(await call(context, tokens, world.serverUrl)).toBe('accepted');

    const renewed = await fetchTokens(context, refreshTokenRequest(tokens, discovery.issuer, registration));
    expect(renewed.tokens.accessToken).not.toBe(tokens.accessToken);
    expect(renewed.tokens.requestedScopes).toEqual(tokens.requestedScopes);
    expect(await call(context, renewed.tokens, world.serverUrl)).toBe('accepted');
    const dead = refreshTokenRequest(tokens, discovery.issuer, registration);
    await expect(fetchTokens(context, dead)).rejects.toMatchObject({ oauthError: 'invalid_grant' });

    world.tokens.clear();
    expect(await call(context, renewed.tokens, world.serverUrl)).toBe('rejected');
    const narrow = {
      status: 403,
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="w"' },
    };
    world.server.on('/mcp', narrow);
    expect(await call(context, renewed.tokens, world.serverUrl)).toBe('insufficient_scope');

    const revoked: string[] = [];
    world.as.on('POST /revoke', ({ form }) => {
      revoked.push(form.get('token_type_hint') ?? '');
      return form.get('token_type_hint') === 'access_token' ? refusal('unsupported_token_type') : {};
    });
    const endpoint = `${world.as.origin}/revoke`;
    const facts = { endpoint, issuer: discovery.issuer, registration, tokens: renewed.tokens };
    for (const one of revocationRequests(facts))
      processRevocationResponse(context, one, await send(await authenticatedRequest(context, one)));
    expect(revoked).toEqual(['refresh_token', 'access_token']);
  });

  it('sends the same requests as the client', async () => {
    const world = await createWorld({ challengeScopes: 'notes:read' });
    await signIn(world, await discover(world.serverUrl));
    const byHand = world.as.log.splice(0);
    await world.client({ registration: { clientName: 'By hand' } }).fetch(world.serverUrl);
    const shape = ({ method, path, query, form, headers }: (typeof byHand)[number]) => ({
      ...{
        method,
        path,
        query: [...query.keys()],
        form: [...form.keys()].slice(0, path === '/token' ? 9 : 0),
      },
      headers: ['accept', 'content-type', 'authorization', 'mcp-protocol-version'].map((name) =>
        path === '/authorize' ? null : headers.get(name),
      ),
    });
    expect(byHand.map(shape)).toEqual(world.as.log.map(shape));
    expect(byHand.map(({ path }) => path)).toEqual([
      ...['/.well-known/oauth-authorization-server', '/register', '/authorize', '/token'],
    ]);
  });

  it('obtains and uses DPoP-bound tokens with the nonces of both servers', async () => {
    const world = await createWorld();
    const proofs: (string | null)[] = [];
    const wantsNonce =
      (answer: (scheme: string) => object, nonce: string) => (asked: { headers: Headers }) => {
        const proof = asked.headers.get('dpop');
        const given = proof === null ? undefined : decodeJwt(proof)['nonce'];
        proofs.push(proof);
        if (given === nonce) return answer('DPoP');
        return {
          ...{ status: nonce === 'as-1' ? 400 : 401, body: { error: 'use_dpop_nonce' } },
          headers: { 'dpop-nonce': nonce, 'www-authenticate': 'DPoP error="use_dpop_nonce"' },
        };
      };
    const discovery = await discover(world.serverUrl);
    const granted = { body: { access_token: 'bound', token_type: 'DPoP', expires_in: 60 } };
    world.as.on(
      'POST /token',
      wantsNonce(() => granted, 'as-1'),
    );
    const { context, tokens, requests } = await signIn(world, discovery, { bound: true });
    expect([requests, tokens.scheme]).toEqual([2, 'DPoP']);

    world.server.on(
      '/mcp',
      wantsNonce(() => ({ body: 'welcome' }), 'rs-1'),
    );
    expect(await call(context, tokens, world.serverUrl)).toBe('retry');
    expect(await call(context, tokens, world.serverUrl)).toBe('accepted');
    const ids = proofs.map((proof) => decodeJwt(proof ?? '').jti);
    expect(new Set(ids).size).toBe(4);
    expect(decodeJwt(proofs[3] ?? '')).toMatchObject({ htm: 'GET', htu: world.serverUrl });
  });

  const refusals: readonly [string, (arrived: URL) => void, ClientErrorCode][] = [
    ['another state', (arrived) => arrived.searchParams.set('state', 'x'), 'response_rejected'],
    [
      'another issuer',
      (arrived) => arrived.searchParams.set('iss', 'https://evil.example'),
      'response_rejected',
    ],
    ['no issuer', (arrived) => arrived.searchParams.delete('iss'), 'response_rejected'],
    ['a refusal', (arrived) => arrived.searchParams.set('error', 'access_denied'), 'authorization_denied'],
  ];
  it.each(refusals)('T115 T116 rejects an authorization response with %s', async (_what, change, code) => {
    const world = await createWorld();
    const discovery = await discover(world.serverUrl);
    const { redirectUri } = world.user;
    const registration = await register(discovery, [redirectUri]);
    const { url, pending } = await authorizationRequest({ discovery, registration, redirectUri });
    const arrived = new URL((await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '');
    change(arrived);
    if (code === 'authorization_denied') arrived.searchParams.delete('code');
    expect(await codeOf((async () => processAuthorizationResponse(arrived.href, pending))())).toBe(code);
    const late = async () => processAuthorizationResponse(arrived.href, pending, pending.expiresAt);
    expect(await codeOf(late())).toBe('response_rejected');
  });
});

describe('other clients', () => {
  it('an application obtains tokens with its secret', async () => {
    const world = await createWorld();
    const discovery = await discover(world.serverUrl);
    const settings = { preregistered: [{ clientId: 'robot', clientSecret: 'secret' }] };
    const registration = findPreregistered(settings, discovery);
    if (registration === null) throw new Error('it is configured');
    const context = createClientContext();
    const input = { discovery, registration, scopes: ['jobs'], dpopKey: null };
    const { tokens } = await fetchTokens(context, clientCredentialsTokenRequest(input));
    expect(await call(context, tokens, world.serverUrl)).toBe('accepted');
    expect(world.as.log.at(-1)?.form.get('grant_type')).toBe('client_credentials');
  });

  it('a client metadata document is used where the authorization server supports it', async () => {
    const url = 'https://app.example/client.json';
    const world = await createWorld({ metadata: { client_id_metadata_document_supported: true } });
    const discovery = await discover(world.serverUrl);
    expect(metadataDocumentRegistration({ metadataDocumentUrl: url }, discovery)?.clientId).toBe(url);
    const without = await discover((await createWorld()).serverUrl);
    expect(metadataDocumentRegistration({ metadataDocumentUrl: url }, without)).toBeNull();
  });
});

describe('unsafe requests and invalid documents', () => {
  it('T109 creates no request for a URL without https', async () => {
    expect(() => challengeRequest('http://mcp.example/mcp')).toThrow('https');
    const [asked] = serverMetadataRequests(
      'https://as.example',
      (await discover((await createWorld()).serverUrl)).profile,
    );
    expect(asked?.url).toBe('https://as.example/.well-known/oauth-authorization-server');
  });

  it('T103 T104 T105 rejects foreign, mismatched and redirected documents', async () => {
    const server = 'https://mcp.example/mcp';
    const foreign = { resourceMetadata: 'https://evil.example/x', scopes: null, error: null, dpop: false };
    expect(() => resourceMetadataRequests(server, foreign)).toThrow('not its own origin');
    const [ask] = resourceMetadataRequests(server);
    if (ask === undefined) throw new Error('there is a place');
    const answer = (status: number, document: object) => ({
      ...{ status, headers: new Headers(), body: JSON.stringify(document) },
    });
    const document = { resource: 'https://evil.example', authorization_servers: ['https://as.example'] };
    expect(() => processResourceMetadataResponse(ask, answer(200, document), server)).toThrow('describes');
    expect(() => processResourceMetadataResponse(ask, answer(302, document), server)).toThrow('redirect');
    expect(() => processResourceMetadataResponse(ask, answer(503, {}), server)).toThrow('status 503');
    expect(processResourceMetadataResponse(ask, answer(404, {}), server)).toBeNull();
    const announced = { ...foreign, resourceMetadata: `${server}/x` };
    expect(() => selectProfile(server, announced, null)).toThrow('but there is none');
  });
});

function oldest(): WorldSettings {
  return { resourceMetadata: false, oneOrigin: true };
}
