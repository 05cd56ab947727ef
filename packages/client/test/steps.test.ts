/** Whole flows by the plain steps alone: every request is sent by a transport of the test's own, and nothing of the client's is. */
import { request } from 'node:http';
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  askAssertion,
  askDeviceAuthorization,
  askRevocation,
  askTokens,
  authorizationRequest,
  buildDiscoveryResult,
  type ClientContext,
  type ClientErrorCode,
  challengeRequest,
  clientCredentialsTokenRequest,
  codeTokenRequest,
  createClientContext,
  createDpopKey,
  type DiscoveryResult,
  deviceAuthorizationRequest,
  deviceCodeTokenRequest,
  findPreregistered,
  identityAssertionRequest,
  jwtBearerTokenRequest,
  metadataDocumentRegistration,
  type OAuthRequest,
  type OAuthResponse,
  planScopes,
  processAuthorizationResponse,
  processChallengeResponse,
  processDeviceAuthorizationResponse,
  processIdentityAssertionResponse,
  processProtectedResourceResponse,
  processRegistrationResponse,
  processResourceMetadataResponse,
  processRevocationResponse,
  processServerMetadataResponse,
  processTokenResponse,
  protectedResourceHeaders,
  type Registration,
  refreshTokenRequest,
  registrationRequest,
  resourceMetadataRequests,
  revocationRequests,
  selectProfile,
  serverMetadataRequests,
  type TokenRequest,
  type Tokens,
} from '../src/steps.ts';
import { codeOf, createWorld, refusal, type World, type WorldSettings } from './support/world.ts';

/** The transport of somebody who has no `fetch`. */
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

/** The first place that has a document; each place is asked in its turn. */
async function search<T>(
  asks: readonly OAuthRequest[],
  understand: (ask: OAuthRequest, answer: OAuthResponse) => T | null,
): Promise<T | null> {
  for (const ask of asks) {
    const found = understand(ask, await send(ask));
    if (found !== null) return found;
  }
  return null;
}

async function discover(server: string): Promise<DiscoveryResult> {
  const challenge = processChallengeResponse(await send(challengeRequest(server)));
  const document = await search(resourceMetadataRequests(server, challenge), (ask, answer) =>
    processResourceMetadataResponse(ask, answer, server),
  );
  const way = selectProfile(server, challenge, document);
  const [issuer = ''] = way.issuers;
  const metadata = await search(serverMetadataRequests(issuer, way.profile), (ask, answer) =>
    processServerMetadataResponse(ask, answer, issuer, way.profile),
  );
  return buildDiscoveryResult(way, issuer, metadata);
}

async function register(discovery: DiscoveryResult, redirectUris: readonly string[]): Promise<Registration> {
  const ask = registrationRequest(discovery, { clientName: 'By hand' }, redirectUris);
  if (ask === null) throw new Error('nobody is registered here');
  return processRegistrationResponse(ask, await send(ask));
}

/** Asks until there are tokens, as often as the server wants it; answers how often that was. */
async function fetchTokens(
  prover: ClientContext,
  wanted: TokenRequest,
): Promise<{ tokens: Tokens; asked: number }> {
  for (let asked = 1; asked < 10; asked += 1) {
    const answer = processTokenResponse(prover, wanted, await send(await askTokens(prover, wanted)));
    if (answer.kind === 'tokens') return { tokens: answer.tokens, asked };
  }
  throw new Error('no tokens');
}

/** Calls once; answers what the server's answer means. */
async function call(prover: ClientContext, tokens: Tokens, url: string): Promise<string> {
  const headers = await protectedResourceHeaders(prover, tokens, { method: 'GET', url });
  return processProtectedResourceResponse(
    prover,
    url,
    await send({ url, method: 'GET', headers, body: null }),
  ).kind;
}

async function signIn(world: World, discovery: DiscoveryResult, settings: { bound?: boolean } = {}) {
  const prover = createClientContext();
  const { redirectUri } = world.user;
  const registration = await register(discovery, [redirectUri]);
  const { scopes } = planScopes(discovery, {});
  const dpopKey = settings.bound ? await createDpopKey() : null;
  const flow = await authorizationRequest({ discovery, registration, redirectUri, scopes, dpopKey });
  const arrived = (await fetch(flow.url, { redirect: 'manual' })).headers.get('location') ?? '';
  const code = processAuthorizationResponse(arrived, flow.pending);
  const { tokens, asked } = await fetchTokens(prover, codeTokenRequest(flow.pending, code));
  return { prover, registration, tokens, asked };
}

describe('a person at a browser', () => {
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
    const { prover, registration, tokens } = await signIn(world, discovery);
    expect(await call(prover, tokens, world.serverUrl)).toBe('answered');

    const renewed = await fetchTokens(prover, refreshTokenRequest(tokens, discovery.issuer, registration));
    expect(renewed.tokens.accessToken).not.toBe(tokens.accessToken);
    expect(renewed.tokens.requestedScopes).toEqual(tokens.requestedScopes);
    expect(await call(prover, renewed.tokens, world.serverUrl)).toBe('answered');
    const dead = refreshTokenRequest(tokens, discovery.issuer, registration);
    await expect(fetchTokens(prover, dead)).rejects.toMatchObject({ oauthError: 'invalid_grant' });

    world.tokens.clear();
    expect(await call(prover, renewed.tokens, world.serverUrl)).toBe('refused');
    const narrow = {
      status: 403,
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="w"' },
    };
    world.server.on('/mcp', narrow);
    expect(await call(prover, renewed.tokens, world.serverUrl)).toBe('insufficient_scope');

    const revoked: string[] = [];
    world.as.on('POST /revoke', ({ form }) => {
      revoked.push(form.get('token_type_hint') ?? '');
      return form.get('token_type_hint') === 'access_token' ? refusal('unsupported_token_type') : {};
    });
    const endpoint = `${world.as.origin}/revoke`;
    const facts = { endpoint, issuer: discovery.issuer, registration, tokens: renewed.tokens };
    for (const one of revocationRequests(facts))
      processRevocationResponse(prover, one, await send(await askRevocation(prover, one)));
    expect(revoked).toEqual(['refresh_token', 'access_token']);
  });

  it('sends what the client itself sends', async () => {
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

  it('binds tokens to a key, with the nonces of both servers', async () => {
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
    const { prover, tokens, asked } = await signIn(world, discovery, { bound: true });
    expect([asked, tokens.scheme]).toEqual([2, 'DPoP']);

    world.server.on(
      '/mcp',
      wantsNonce(() => ({ body: 'welcome' }), 'rs-1'),
    );
    expect(await call(prover, tokens, world.serverUrl)).toBe('again');
    expect(await call(prover, tokens, world.serverUrl)).toBe('answered');
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
  it.each(refusals)('T115 T116 understands no answer with %s', async (_what, change, code) => {
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

describe('others', () => {
  it('a person on another device: shown a code, waited for, at the pace of the server', async () => {
    const world = await createWorld();
    const answers = ['authorization_pending', 'slow_down'];
    world.as.on('POST /device', {
      body: {
        device_code: 'd',
        user_code: 'WDJB\u0007',
        verification_uri: `${world.as.origin}/activate`,
        expires_in: 60,
        interval: 7,
      },
    });
    const found = await discover(world.serverUrl);
    const metadata = { ...found.metadata, device_authorization_endpoint: `${world.as.origin}/device` };
    const discovery = { ...found, metadata };
    const registration = await register(discovery, []);
    const prover = createClientContext();
    const facts = { discovery, registration, scopes: ['notes:read'], dpopKey: null };
    const wanted = deviceAuthorizationRequest(facts);
    const answer = await send(await askDeviceAuthorization(prover, wanted));
    const shown = processDeviceAuthorizationResponse(prover, wanted, answer);
    expect(shown).toMatchObject({
      userCode: 'WDJB',
      interval: 7,
      verificationUri: `${world.as.origin}/activate`,
    });

    world.as.on('POST /token', ({ form }) => {
      expect(form.get('device_code')).toBe('d');
      const error = answers.shift();
      return error === undefined ? { body: { access_token: 'a', token_type: 'bearer' } } : refusal(error);
    });
    const tokenRequest = deviceCodeTokenRequest(facts, shown);
    const kinds: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      kinds.push(
        processTokenResponse(prover, tokenRequest, await send(await askTokens(prover, tokenRequest))),
      );
    }
    expect(kinds).toEqual([
      { kind: 'wait', longer: false },
      { kind: 'wait', longer: true },
      { kind: 'tokens', tokens: expect.objectContaining({ accessToken: 'a', scopes: ['notes:read'] }) },
    ]);
    expect(() => deviceAuthorizationRequest({ ...facts, discovery: found })).toThrow(
      'does not offer sign-in by code',
    );
  });

  it('an application with its secret, and an enterprise’s person by an identity assertion', async () => {
    const world = await createWorld();
    const discovery = await discover(world.serverUrl);
    const settings = { preregistered: [{ clientId: 'robot', clientSecret: 'secret' }] };
    const registration = findPreregistered(settings, discovery);
    if (registration === null) throw new Error('it is configured');
    const prover = createClientContext();
    const facts = { discovery, registration, scopes: ['jobs'], dpopKey: null };
    const { tokens } = await fetchTokens(prover, clientCredentialsTokenRequest(facts));
    expect(await call(prover, tokens, world.serverUrl)).toBe('answered');

    world.as.on('POST /exchange', {
      body: {
        access_token: 'assertion',
        issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        token_type: 'N_A',
      },
    });
    const identityProvider = { tokenEndpoint: `${world.as.origin}/exchange`, clientId: 'us' };
    const exchange = identityAssertionRequest(facts, { identityProvider }, 'id-token');
    const assertion = processIdentityAssertionResponse(
      prover,
      exchange,
      await send(await askAssertion(prover, exchange)),
    );
    const enterprise = await fetchTokens(prover, jwtBearerTokenRequest(facts, assertion));
    expect(await call(prover, enterprise.tokens, world.serverUrl)).toBe('answered');
    expect(world.as.log.slice(-3).map(({ form }) => form.get('grant_type')?.split(':').at(-1))).toEqual([
      ...['client_credentials', 'token-exchange', 'jwt-bearer'],
    ]);
  });

  it('a client with a metadata document is known by its address, where that is understood', async () => {
    const url = 'https://app.example/client.json';
    const world = await createWorld({ metadata: { client_id_metadata_document_supported: true } });
    const discovery = await discover(world.serverUrl);
    expect(metadataDocumentRegistration({ metadataDocumentUrl: url }, discovery)?.clientId).toBe(url);
    const without = await discover((await createWorld()).serverUrl);
    expect(metadataDocumentRegistration({ metadataDocumentUrl: url }, without)).toBeNull();
  });
});

describe('nothing is written that may not be sent, and nothing taken that may not be believed', () => {
  it('T109 no request to an address without https', async () => {
    expect(() => challengeRequest('http://mcp.example/mcp')).toThrow('https');
    const [asked] = serverMetadataRequests(
      'https://as.example',
      (await discover((await createWorld()).serverUrl)).profile,
    );
    expect(asked?.url).toBe('https://as.example/.well-known/oauth-authorization-server');
  });

  it('T103 T104 T105 no foreign, mismatched or redirected document', async () => {
    const server = 'https://mcp.example/mcp';
    const foreign = { resourceMetadata: 'https://evil.example/x', scopes: null, error: null, dpop: false };
    expect(() => resourceMetadataRequests(server, foreign)).toThrow('not its own origin');
    const [ask] = resourceMetadataRequests(server);
    if (ask === undefined) throw new Error('there is a place');
    const answer = (status: number, document: object) => ({
      ...{ status, headers: new Headers(), body: JSON.stringify(document) },
    });
    const document = { resource: 'https://evil.example', authorization_servers: ['https://as.example'] };
    expect(() => processResourceMetadataResponse(ask, answer(200, document), server)).toThrow('speaks for');
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
