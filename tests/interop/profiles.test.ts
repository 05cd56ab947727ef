/** Both official SDKs against servers of one profile each, of all, and without registration. */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { createRecorder, type Exchange } from './exchanges.ts';
import { type Application, createMemoryProvider, type MemoryProvider } from './memory-provider.ts';
import { type Sdk, sdks } from './sdks.ts';

const redirectUrl = 'http://127.0.0.1:33418/callback';

const clientKinds = [
  { kind: 'a public client', method: 'none' },
  { kind: 'a confidential client', method: 'client_secret_basic' },
  { kind: 'a confidential client, secret in the form,', method: 'client_secret_post' },
] as const;

const cases = sdks.flatMap((sdk) => clientKinds.map((kind) => ({ sdk, ...kind, name: sdk.name })));

let server: PortcullisHere;

async function start(configuration: Parameters<typeof startPortcullisHere>[0]): Promise<void> {
  server = await startPortcullisHere(configuration);
}

const stop = () => server.stop();

interface Flow {
  readonly provider: MemoryProvider;
  /** The client's requests and responses. */
  readonly said: readonly Exchange[];
}

/** A complete flow by one SDK: authorizes, adds a note and lists it, and again after its access token has become invalid. */
async function keepNotes(sdk: Sdk, application: Omit<Application, 'redirectUrl'>): Promise<Flow> {
  const provider = createMemoryProvider({ redirectUrl, ...application });
  const { fetch, exchanges } = createRecorder();
  await sdk.signIn(server.resource, provider, createUser(owner), fetch);
  const session = await sdk.connect(server.resource, provider, fetch);
  const text = `By ${sdk.name}: ${Math.random()}`;
  await session.call('add_note', { text });
  spoilAccessToken(provider);
  expect(await session.call('list_notes')).toMatchObject({ notes: expect.arrayContaining([noteOf(text)]) });
  await session.close();
  return { provider, said: exchanges };
}

function noteOf(text: string): unknown {
  return expect.objectContaining({ text });
}

function spoilAccessToken(provider: MemoryProvider): void {
  const tokens = provider.tokens();
  if (tokens !== undefined) provider.saveTokens({ ...tokens, access_token: `${tokens.access_token}x` });
}

/** The distinct requests to other than the protected server, in order: `POST /token 200`. */
function besidesTheServer(said: readonly Exchange[]): readonly string[] {
  const lines = said
    .filter(({ url }) => url.pathname !== '/mcp')
    .map(({ method, url, status }) => `${method} ${url.pathname} ${status}`);
  return [...new Set(lines)];
}

/** The parameters of the exchange of the code, and of the refresh. */
function tokenRequests(said: readonly Exchange[]): readonly URLSearchParams[] {
  const requests = said
    .filter(({ url }) => url.pathname === '/token')
    .map(({ body }) => new URLSearchParams(body));
  expect(requests.map((parameters) => parameters.get('grant_type'))).toEqual([
    'authorization_code',
    'refresh_token',
  ]);
  expect(requests[0]?.get('code_verifier')).toMatch(/^[\w.~-]{43,128}$/);
  return requests;
}

/** The protected server's rejections: without a token, and with a damaged one. */
function challenges(said: readonly Exchange[]): readonly [without: string, spoilt: string] {
  const refused = said.filter(({ url, status }) => url.pathname === '/mcp' && status === 401);
  const [without = '', spoilt = ''] = refused.map(({ challenge }) => challenge ?? '');
  expect(refused).toHaveLength(2);
  expect(without).toMatch(/^Bearer /);
  expect(without).not.toContain('error');
  expect(spoilt).toContain('error="invalid_token"');
  return [without, spoilt];
}

/** Both profiles end with a short-lived token for the protected server, and a rotated refresh token. */
function expectTokens({ provider, said }: Flow): void {
  const tokens = provider.tokens();
  expect(decodeJwt(tokens?.access_token ?? '')).toMatchObject({ iss: server.url, aud: server.resource });
  expect(tokens?.expires_in).toBe(600);
  expect(tokens?.refresh_token).toEqual(expect.any(String));
  expect(tokens?.refresh_token).not.toBe(tokenRequests(said)[1]?.get('refresh_token'));
}

/** Nothing of Profile B, but a token for the only protected server. */
function expectProfileA(flow: Flow): void {
  for (const challenge of challenges(flow.said)) expect(challenge).not.toContain('resource_metadata');
  expect(flow.provider.opened().searchParams.get('code_challenge_method')).toBe('S256');
  expect(flow.provider.opened().searchParams.has('resource')).toBe(false);
  for (const parameters of tokenRequests(flow.said)) expect(parameters.has('resource')).toBe(false);
  expectTokens(flow);
}

function expectProfileB(flow: Flow): void {
  const metadata = `resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp"`;
  for (const challenge of challenges(flow.said)) expect(challenge).toContain(metadata);
  expect(flow.provider.opened().searchParams.get('code_challenge_method')).toBe('S256');
  expect(flow.provider.opened().searchParams.get('resource')).toBe(server.resource);
  for (const parameters of tokenRequests(flow.said)) expect(parameters.get('resource')).toBe(server.resource);
  expectTokens(flow);
}

/** The client may choose the port of a loopback redirect URI (OAuth 2.1 drafts 12 and 13, RFC 8252 §7.3). */
async function expectAnyPort(sdk: Sdk): Promise<void> {
  const redirect_uris = [redirectUrl, 'http://localhost/callback'];
  const provider = createMemoryProvider({
    redirectUrl: 'http://localhost:50123/callback',
    metadata: { redirect_uris },
  });
  await sdk.signIn(server.resource, provider, createUser(owner));
  expect(provider.tokens()).toMatchObject({ token_type: 'Bearer' });
}

describe('a Profile A server with metadata', () => {
  beforeAll(() => start({ profiles: ['2025-03-26'] }));
  afterAll(stop);

  it.each(cases)(
    '[ALL-STD-1 ALL-VER-1 ALL-O21-1 ALL-DCR-1 S-ROLE-1 S-401-3 AS-META-1 AS-FLOW-A5 AS-FLOW-A7 AS-ROT-2] serves $kind of $name',
    async ({ sdk, method }) => {
      const flow = await keepNotes(sdk, { metadata: { token_endpoint_auth_method: method } });
      expect(besidesTheServer(flow.said)).toEqual([
        'GET /.well-known/oauth-protected-resource/mcp 404',
        'GET /.well-known/oauth-protected-resource 404',
        'GET /.well-known/oauth-authorization-server 200',
        'POST /register 201',
        'POST /token 200',
      ]);
      expectProfileA(flow);
    },
  );

  it.each(sdks)('[ALL-VER-3] lets $name listen on any port of this computer', expectAnyPort);
});

describe('a Profile A server without metadata', () => {
  beforeAll(() => start({ profiles: ['2025-03-26'], metadata: false }));
  afterAll(stop);

  it.each(cases)(
    '[AS-FALLBACK-1 AS-FALLBACK-2 AS-FALLBACK-3 AS-FALLBACK-4 AS-FALLBACK-5 AS-FALLBACK-6 AS-META-7 AS-META-9] serves $kind of $name on its default paths',
    async ({ sdk, method }) => {
      const flow = await keepNotes(sdk, { metadata: { token_endpoint_auth_method: method } });
      expect(besidesTheServer(flow.said)).toEqual([
        'GET /.well-known/oauth-protected-resource/mcp 404',
        'GET /.well-known/oauth-protected-resource 404',
        'GET /.well-known/oauth-authorization-server 404',
        'GET /.well-known/openid-configuration 404',
        'POST /register 201',
        'POST /token 200',
      ]);
      expect(flow.provider.opened().pathname).toBe('/authorize');
      expectProfileA(flow);
    },
  );
});

describe('a Profile B server', () => {
  beforeAll(() => start({ profiles: ['2025-06-18'] }));
  afterAll(stop);

  it.each(cases)(
    '[ALL-STD-1 ALL-VER-1 S-ROLE-2 S-PRM-1 S-FLOW-B1 S-401-1 AS-O21-1 AS-DCR-1 AS-META-2 AS-ROLE-2 AS-TOK-2 AS-FLOW-B5 AS-TTL-2] serves $kind of $name',
    async ({ sdk, method }) => {
      const flow = await keepNotes(sdk, { metadata: { token_endpoint_auth_method: method } });
      expect(besidesTheServer(flow.said)).toEqual([
        'GET /.well-known/oauth-protected-resource/mcp 200',
        'GET /.well-known/oauth-authorization-server 200',
        'POST /register 201',
        'POST /token 200',
      ]);
      expectProfileB(flow);
    },
  );

  it.each(sdks)('[ALL-VER-3] lets $name listen on any port of this computer', expectAnyPort);
});

describe('a server of all profiles', () => {
  beforeAll(() => start({}));
  afterAll(stop);

  it.each(cases)('[ALL-TRN-1] serves $kind of $name', async ({ sdk, method }) => {
    expectProfileB(await keepNotes(sdk, { metadata: { token_endpoint_auth_method: method } }));
  });
});

describe('a server without registration', () => {
  const shared = { redirect_uris: [redirectUrl], grant_types: ['authorization_code', 'refresh_token'] };
  const editor = { client_id: 'editor', token_endpoint_auth_method: 'none', ...shared };
  const portal = { client_id: 'portal', client_secret: 'known to both sides only', ...shared };

  beforeAll(() => start({ registration: false, clients: [editor, portal] }));
  afterAll(stop);

  it.each(
    sdks.flatMap((sdk) => [
      { sdk, name: sdk.name, kind: 'public', client: editor },
      { sdk, name: sdk.name, kind: 'confidential', client: portal },
    ]),
  )('[AS-REG-1] serves the $kind client of its configuration by $name', async ({ sdk, client }) => {
    const flow = await keepNotes(sdk, { client: { ...client, issuer: server.url } });
    expect(besidesTheServer(flow.said)).not.toContainEqual(expect.stringContaining('/register'));
    expectProfileB(flow);
  });

  it.each(sdks)('[AS-REG-1] tells $name that it cannot register', async (sdk) => {
    const provider = createMemoryProvider({ redirectUrl });
    const refused = sdk.signIn(server.resource, provider, createUser(owner));
    await expect(refused).rejects.toThrow('does not support dynamic client registration');
  });
});
