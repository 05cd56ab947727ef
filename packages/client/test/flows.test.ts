/** Complete authorizations against a server of each profile, from its URL to an authorized response. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sanitizeText } from '../src/index.ts';
import { calls, createWorld, refusal } from './support/world.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

describe('Profile B and later: the server names its authorization server', () => {
  it('[C-ROLE-2 C-FLOW-B2 C-FLOW-B3 C-FLOW-B4 C-FLOW-B6 C-FLOW-B7 C-META-2 C-PRM-1 C-ERR-401 ALL-DCR-1] discovers, registers, signs in and calls a server with resource metadata', async () => {
    const world = await createWorld();
    const response = await world.client().fetch(world.serverUrl, { method: 'POST', body: '{}' });

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ method: 'POST', granted: '' });
    expect(world.server.log.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /mcp',
      'GET /.well-known/oauth-protected-resource/mcp',
      'POST /mcp',
    ]);
    expect(world.as.log.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'POST /register',
      'GET /authorize',
      'POST /token',
    ]);
    expect(calls(world)[1]?.headers.get('authorization')).toMatch(/^Bearer at-/);
  });

  it('[C-PKCE-1 C-PKCE-2 C-PKCE-3 C-PKCE-21 C-STATE-1 C-REDIR-1 C-UA-1] sends PKCE, state and a registered redirect URI', async () => {
    const world = await createWorld();
    await world.client().fetch(world.serverUrl);
    const query = world.user.opened[0]?.searchParams ?? new URLSearchParams();
    const token = world.as.asked('/token')[0]?.form ?? new URLSearchParams();

    expect(query.get('response_type')).toBe('code');
    expect(query.get('code_challenge_method')).toBe('S256');
    const verifier = token.get('code_verifier') ?? '';
    expect(verifier).toMatch(/^[A-Za-z0-9\-._~]{43,128}$/);
    expect(query.get('code_challenge')).toBe(createHash('sha256').update(verifier).digest('base64url'));
    expect(query.getAll('state')).toHaveLength(1);
    expect(query.get('state')).toMatch(/^.{43,}$/);
    const registered = JSON.parse(world.as.asked('/register')[0]?.body ?? '{}');
    expect(registered.redirect_uris).toEqual([query.get('redirect_uri')]);
    expect(token.get('redirect_uri')).toBe(query.get('redirect_uri'));
    // The user's password is between the browser and the authorization server.
    expect(Object.keys(Object.fromEntries(token))).not.toContain('password');
  });

  it('[C-RES-1 C-RES-2 C-RES-3 C-RES-4 C-RES-5 C-RES-7 C-RES-12 C-REF-62] sends the published resource in the authorization, token and refresh requests', async () => {
    const world = await createWorld({ path: '/server/mcp' });
    const client = world.client();
    await client.fetch(world.serverUrl);
    world.advance(590_000);
    await client.fetch(world.serverUrl);

    const resource = `${world.server.origin}/server/mcp`;
    expect(world.user.opened[0]?.searchParams.getAll('resource')).toEqual([resource]);
    expect(world.user.opened[0]?.search).toContain(`resource=${encodeURIComponent(resource)}`);
    expect(
      world.as.asked('/token').map(({ form }) => [form.get('grant_type'), form.getAll('resource')]),
    ).toEqual([
      ['authorization_code', [resource]],
      ['refresh_token', [resource]],
    ]);
  });

  it('[C-RES-10 C-PRM-23] omits the slash of a resource at the root of its origin', async () => {
    const world = await createWorld({ path: '/' });
    await world.client().fetch(world.serverUrl);
    expect(world.user.opened[0]?.searchParams.get('resource')).toBe(world.server.origin);
    expect(world.server.asked('/.well-known/oauth-protected-resource')).toHaveLength(1);
  });

  it.each([
    ['HTTPS://MCP.Example.com/mcp', 'https://mcp.example.com/mcp'],
    ['https://mcp.example.com/', 'https://mcp.example.com'],
    ['https://mcp.example.com/mcp#fragment', 'https://mcp.example.com/mcp'],
    ['https://mcp.example.com:8443', 'https://mcp.example.com:8443'],
  ])('[C-RES-6 C-RES-8 ALL-RES-9] reads the server URL %s as the resource %s', async (given, meant) => {
    const world = await createWorld();
    expect(world.client({ serverUrl: given }).server).toBe(meant);
  });

  it.each(['mcp.example.com', '', 'file:///mcp', '/mcp', 'https://a@mcp.example.com/'])(
    '[ALL-RES-11] the server URL %j is refused',
    async (given) => {
      const world = await createWorld();
      expect(() => world.client({ serverUrl: given })).toThrowError(
        expect.objectContaining({ code: 'server_url_invalid' }),
      );
    },
  );

  it('[C-TOK-2 C-TOK-30 C-TOK-3] sends the token with every request, in the header and never in the query', async () => {
    const world = await createWorld();
    const client = world.client();
    for (const method of ['POST', 'GET', 'DELETE'])
      await client.fetch(`${world.serverUrl}?session=1`, { method });
    const later = calls(world).slice(1);
    expect(later.map(({ method }) => method)).toEqual(['POST', 'GET', 'DELETE']);
    for (const call of later) {
      expect(call.headers.get('authorization')).toMatch(/^Bearer \S+$/);
      expect(call.target).toBe('/mcp?session=1');
    }
  });

  it('[ALL-TRN-1 C-LOCAL-1] a local client is a public client, and refreshes without the user', async () => {
    const world = await createWorld();
    const client = world.client();
    await client.fetch(world.serverUrl);
    expect(JSON.parse(world.as.asked('/register')[0]?.body ?? '{}').token_endpoint_auth_method).toBe('none');
    expect(world.as.asked('/token')[0]?.form.has('client_secret')).toBe(false);
    world.advance(3_600_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(1);
    expect(world.as.asked('/token')[1]?.form.get('grant_type')).toBe('refresh_token');
  });
});

describe('the endpoint for pushed authorization requests', () => {
  it.each([
    { given: { status: 500 }, code: 'temporarily_unavailable' },
    { given: refusal('temporarily_unavailable'), code: 'temporarily_unavailable' },
    { given: refusal('invalid_request'), code: 'token_refused' },
  ])('is named by the error about it, and not the token endpoint: $given', async ({ given, code }) => {
    const world = await createWorld();
    const { origin } = world.as;
    world.as.on('GET /.well-known/oauth-authorization-server', {
      body: {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        pushed_authorization_request_endpoint: `${origin}/par`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      },
    });
    world.as.on('POST /par', given);
    const error: unknown = await world
      .client()
      .signIn()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, message: expect.stringContaining(`${origin}/par`) });
    expect(String(error)).not.toContain('token');
    expect(world.user.opened).toEqual([]);
  });
});

describe('Profile A: the server speaks for itself', () => {
  const atItself = { resourceMetadata: false, oneOrigin: true } as const;

  it('[C-META-1 C-META-5 C-BASE-1 C-FLOW-A2 C-FLOW-A3 C-FLOW-A4 C-FLOW-A6 C-FLOW-A8 C-REC-1 ALL-STD-1] finds the metadata of a server without resource metadata at the root of its host', async () => {
    const world = await createWorld({ ...atItself, path: '/v1/mcp' });
    const response = await world.client().fetch(`${world.serverUrl}?x=y`, { method: 'POST', body: 'again' });
    expect(response.status).toBe(200);
    expect(world.server.log.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/mcp',
      'GET /.well-known/oauth-protected-resource/v1/mcp',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-authorization-server',
      'POST /register',
      'GET /authorize',
      'POST /token',
      'POST /v1/mcp',
    ]);
    expect(world.server.log[0]?.body).toBe('again');
    expect(world.server.log.at(-1)?.body).toBe('again');
  });

  it('[C-META-6 C-META-61 ALL-VER-3] uses the default paths when there is no metadata, with all other rules unchanged', async () => {
    const world = await createWorld({ ...atItself, serverMetadata: false, path: '/v1/mcp' });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    const query = world.user.opened[0]?.searchParams ?? new URLSearchParams();
    expect(world.user.opened[0]?.pathname).toBe('/authorize');
    expect(query.get('code_challenge_method')).toBe('S256');
    expect(query.get('state')).toMatch(/^.{43,}$/);
    expect(world.server.asked('/register')).toHaveLength(1);
    expect(world.server.asked('/token')[0]?.form.get('code_verifier')).toMatch(/^.{43,}$/);
    expect(calls(world).at(-1)?.headers.get('authorization')).toMatch(/^Bearer /);
  });

  it('[ALL-VER-1] sends no resource indicator in the oldest revision', async () => {
    const world = await createWorld(atItself);
    await world.client().fetch(world.serverUrl);
    expect(world.user.opened[0]?.searchParams.has('resource')).toBe(false);
    expect(world.server.asked('/token')[0]?.form.has('resource')).toBe(false);
  });

  it('[C-VER-2 C-META-4] sends the configured revision with discovery requests', async () => {
    const world = await createWorld(atItself);
    await world.client().fetch(world.serverUrl);
    const [document] = world.server.asked('/.well-known/oauth-authorization-server');
    expect(document?.headers.get('mcp-protocol-version')).toBe('2025-03-26');

    const other = await createWorld(atItself);
    await other.client({ versionHeader: 'Ctx-Protocol-Version' }).fetch(other.serverUrl);
    const [again] = other.server.asked('/.well-known/oauth-authorization-server');
    expect(again?.headers.get('ctx-protocol-version')).toMatch(DATE);
    expect(again?.headers.has('mcp-protocol-version')).toBe(false);
  });

  it('[C-ISS-60] ignores an issuer in the response of the oldest revision', async () => {
    const world = await createWorld({ ...atItself, responseIssuer: 'https://elsewhere.example' });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
  });

  it('[C-ROLE-1 ALL-O21-1] signs in with a public and with a confidential client', async () => {
    const open = await createWorld(atItself);
    expect((await open.client().fetch(open.serverUrl)).status).toBe(200);

    const closed = await createWorld(atItself);
    const registration = { preregistered: [{ clientId: 'app', clientSecret: 'secret' }] };
    expect((await closed.client({ registration }).fetch(closed.serverUrl)).status).toBe(200);
    expect(closed.server.asked('/register')).toHaveLength(0);
    expect(closed.server.asked('/token')[0]?.headers.get('authorization')).toBe(
      `Basic ${btoa('app:secret')}`,
    );
    expect(closed.server.asked('/token')[0]?.form.has('code_verifier')).toBe(true);
  });
});

describe('without authorization', () => {
  it('[ALL-OPT-1] sends no token to a server without authorization', async () => {
    const world = await createWorld();
    world.server.on('/open', { body: 'welcome' });
    const client = world.client({ serverUrl: `${world.server.origin}/open` });
    expect(await (await client.fetch(`${world.server.origin}/open`)).text()).toBe('welcome');
    expect(world.server.log).toHaveLength(1);
    expect(world.server.log[0]?.headers.has('authorization')).toBe(false);
  });
});

it.each([
  ['a\u001b[31mred\u001b[0m', 'a [31mred [0m'],
  ['one\r\ntwo\u0000', 'one two'],
  ['\u202Eevil\u2066', 'evil'],
  ['\u001b]8;;https://evil.example\u0007link', ']8;;https://evil.example link'],
  ['x'.repeat(400), `${'x'.repeat(299)}…`],
])('T126 T147 shows the server text %j as %j', (text, shown) => {
  expect(sanitizeText(text)).toBe(shown);
});
