/** Discovery: where metadata is fetched, how it is validated, and what happens when it is missing, invalid or hostile. */
import { describe, expect, it } from 'vitest';
import { costOf } from '../../../tests/support/cost.ts';
import { createNodeClient } from '../src/node.ts';
import { calls, codeOf, createWorld, openParty, type World, type WorldSettings } from './support/world.ts';

/** Nothing that a user or a secret would be needed for has happened. */
function expectNothingBegun({ as, server, user }: World): void {
  for (const party of [as, server]) {
    for (const path of ['/register', '/authorize', '/token']) expect(party.asked(path)).toEqual([]);
  }
  expect(user.opened).toEqual([]);
}

const PRM = '/.well-known/oauth-protected-resource';
const ASM = '/.well-known/oauth-authorization-server';
const OIDC = '/.well-known/openid-configuration';

describe('protected resource metadata', () => {
  it('[C-PRM-20 C-PRM-21] fetches resource metadata only from the URL in the challenge', async () => {
    const world = await createWorld();
    const place = `${world.server.origin}/custom/place.json`;
    world.server.on('GET /custom/place.json', {
      body: { resource: world.serverUrl, authorization_servers: [world.as.origin], future: true },
    });
    challengeWith(world, `Bearer resource_metadata="${place}"`);
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(world.server.log.map(({ path }) => path)).toEqual(['/mcp', '/custom/place.json', '/mcp']);
  });

  it('[C-PRM-20 C-PRM-22] looks for resource metadata at the path, then at the root, when the challenge names none', async () => {
    const world = await createWorld({ resourceMetadata: false });
    world.server.on(`GET ${PRM}`, {
      body: { resource: world.server.origin, authorization_servers: [world.as.origin] },
    });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(world.server.log.map(({ path }) => path)).toEqual(['/mcp', `${PRM}/mcp`, PRM, '/mcp']);
    // The document at the root speaks for the origin, and the token is for what it names.
    expect(world.user.opened[0]?.searchParams.get('resource')).toBe(world.server.origin);
  });

  it('[C-401-20] finds the metadata URL among several challenges', async () => {
    const challenges = [
      (place: string) => `Basic realm="a, b", Bearer error="x", resource_metadata="${place}"`,
      (place: string) => `Negotiate abc==, DPoP algs="ES256 RS256", RESOURCE_METADATA="${place}"`,
      (place: string) =>
        `bearer   realm="say \\"hi, resource_metadata=no\\"" ,resource_metadata = "${place}", scope="a b"`,
    ];
    for (const write of challenges) {
      const world = await createWorld();
      challengeWith(world, write(`${world.server.origin}${PRM}/mcp`));
      expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
      expect(world.server.asked(PRM)).toHaveLength(0);
    }
  });

  it('T113 parses hostile challenges in linear time and falls back to the well-known URL', async () => {
    const hostile = [
      'Bearer "',
      `Bearer ${'a=",'.repeat(3000)}`,
      `Bearer ${'\\"'.repeat(6000)}`,
      `${'a '.repeat(6000)}`,
    ];
    for (const challenge of hostile) {
      const world = await createWorld();
      challengeWith(world, challenge);
      const find = async () => expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
      expect(await costOf(find)).toBeLessThan(1000);
      expect(world.server.asked(`${PRM}/mcp`)).toHaveLength(1);
    }
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data/'],
    ['http://10.0.0.1/'],
    ['file:///etc/passwd'],
    ['gopher://127.0.0.1/'],
    ['https://elsewhere.example/metadata'],
    ['javascript:alert(1)'],
    ['//elsewhere.example/'],
  ])('[C-SSRF-41] T103 does not follow a challenge to %s', async (place) => {
    const world = await createWorld();
    challengeWith(world, `Bearer resource_metadata="${place}"`);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('endpoint_refused');
    expect(world.server.log).toHaveLength(1);
    expectNothingBegun(world);
  });

  it('does not fall back to the oldest revision when the named metadata is missing', async () => {
    const world = await createWorld({ resourceMetadata: false, oneOrigin: true });
    challengeWith(world, `Bearer resource_metadata="${world.server.origin}/gone"`);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_missing');
    expectNothingBegun(world);
  });

  it.each([
    ['https://evil.example/mcp'],
    ['ORIGIN/mcp2'],
    ['ORIGIN/other'],
    ['https://127.0.0.1.evil.example/mcp'],
    ['ORIGIN/mcp/deeper'],
    ['ORIGIN/mcp?tenant=2'],
  ])('[C-PRM-60 C-PRM-61 C-PRM-25] T104 rejects resource metadata for %s', async (resource) => {
    const world = await createWorld();
    world.server.on(`GET ${PRM}/mcp`, {
      body: {
        resource: resource.replace('ORIGIN', world.server.origin),
        authorization_servers: [world.as.origin],
      },
    });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('resource_mismatch');
    expect(world.as.log).toEqual([]);
    expectNothingBegun(world);
  });

  it.each([
    ['no authorization server', { resource: 'SERVER' }],
    ['an empty list', { resource: 'SERVER', authorization_servers: [] }],
    ['no list', { resource: 'SERVER', authorization_servers: 'AS' }],
    ['an http authorization server', { resource: 'SERVER', authorization_servers: ['http://as.example'] }],
    ['an empty resource', { resource: '', authorization_servers: ['AS'] }],
    ['no object', ['SERVER']],
    ['no JSON', '<html>hello</html>'],
  ])('[C-PRM-25] T104 rejects resource metadata with %s', async (_what, body) => {
    const world = await createWorld();
    const text = JSON.stringify(body).replaceAll('SERVER', world.serverUrl).replaceAll('AS', world.as.origin);
    world.server.on(`GET ${PRM}/mcp`, { body: JSON.parse(text) });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_invalid');
    expect(world.as.log).toEqual([]);
    expectNothingBegun(world);
  });

  it('[C-PRM-62 C-PRM-63] ignores unknown members and signed metadata', async () => {
    const world = await createWorld({ resource: { signed_metadata: 'e30.e30.x', 'x-future': [1] } });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
  });

  it('[C-PRM-64] reads resource metadata again after a new challenge', async () => {
    const world = await createWorld({ refresh: false });
    const client = world.client();
    await client.fetch(world.serverUrl);
    world.tokens.clear();
    await client.fetch(world.serverUrl);
    expect(world.server.asked(`${PRM}/mcp`)).toHaveLength(2);
  });

  it('[C-PRM-24 ALL-VER-1] stops without resource metadata in a pinned revision that requires it', async () => {
    const world = await createWorld({ resourceMetadata: false, oneOrigin: true });
    expect(await codeOf(world.client({ revision: '2025-06-18' }).fetch(world.serverUrl))).toBe(
      'metadata_missing',
    );
    expectNothingBegun(world);
    expect((await world.client({ revision: '2025-03-26' }).fetch(world.serverUrl)).status).toBe(200);
    expect(world.server.asked(`${PRM}/mcp`)).toHaveLength(1);
  });
});

describe('authorization server metadata', () => {
  it.each([
    ['/t1', `${ASM}/t1`, [`${ASM}/t1`]],
    ['/t1', `${OIDC}/t1`, [`${ASM}/t1`, `${OIDC}/t1`]],
    ['/t1', `/t1${OIDC}`, [`${ASM}/t1`, `${OIDC}/t1`, `/t1${OIDC}`]],
    ['', ASM, [ASM]],
    ['', OIDC, [ASM, OIDC]],
  ])(
    '[C-META-20 C-META-21 C-META-22 C-META-23] finds the metadata of issuer %j at %s',
    async (path, place, asked) => {
      const world = await createWorld({ serverMetadata: false });
      const issuer = `${world.as.origin}${path}`;
      describeServer(world, place, { issuer });
      world.server.on(`GET ${PRM}/mcp`, {
        body: { resource: world.serverUrl, authorization_servers: [issuer] },
      });
      // The answer of the authorization endpoint has to carry this issuer.
      world.user.divert((arrived) => {
        arrived.searchParams.set('iss', issuer);
        return arrived;
      });
      expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
      const wellKnown = world.as.log
        .map(({ target }) => target)
        .filter((target) => target.includes('.well-known'));
      expect(wellKnown).toEqual(asked);
    },
  );

  it('[C-META-3] uses the endpoints of the metadata, never the default paths', async () => {
    const world = await createWorld({ serverMetadata: false });
    for (const name of ['authorize', 'token', 'register']) {
      world.as.on(`/oauth/v2/${name}`, (asked) => forward(world, `/${name}`, asked));
    }
    describeServer(world, ASM, {
      authorization_endpoint: `${world.as.origin}/oauth/v2/authorize?tenant=1`,
      token_endpoint: `${world.as.origin}/oauth/v2/token`,
      registration_endpoint: `${world.as.origin}/oauth/v2/register`,
    });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened[0]?.pathname).toBe('/oauth/v2/authorize');
    expect(world.user.opened[0]?.searchParams.get('tenant')).toBe('1');
  });

  it('[AS-ROLE-1] accepts endpoints on one other origin for a server without resource metadata', async () => {
    const world = await createWorld({ resourceMetadata: false });
    const { as, server } = world;
    const document = {
      issuer: as.origin,
      authorization_endpoint: `${as.origin}/authorize`,
      token_endpoint: `${as.origin}/token`,
      registration_endpoint: `${as.origin}/register`,
    };
    server.on(`GET ${ASM}`, { body: document });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);

    server.on(`GET ${ASM}`, { body: { ...document, token_endpoint: `${server.origin}/token` } });
    const fresh = world.client();
    world.tokens.clear();
    expect(await codeOf(fresh.fetch(world.serverUrl))).toBe('endpoint_refused');
    expect(server.asked('/token')).toEqual([]);
  });

  it.each([
    ['another host', () => 'https://honest.example'],
    ['another tenant', (issuer: string) => `${issuer}/other`],
    ['a slash', (issuer: string) => `${issuer}/`],
    ['other case', (issuer: string) => issuer.replace('http', 'HTTP')],
    ['another port', (issuer: string) => `${issuer}0`],
  ])(
    '[C-META-30 C-META-31 C-META-32 C-META-60 ALL-DISC-30] T105 a document whose issuer differs by %s is not used',
    async (_what, change) => {
      const world = await createWorld({ serverMetadata: false });
      describeServer(world, ASM, { issuer: change(world.as.origin) });
      expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('issuer_mismatch');
      expectNothingBegun(world);
    },
  );

  it('accepts an issuer under two names with issuerAliases', async () => {
    const world = await createWorld();
    const named = `${world.as.origin}/`;
    world.server.on(`GET ${PRM}/mcp`, {
      body: { resource: world.serverUrl, authorization_servers: [named] },
    });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('issuer_mismatch');
    const client = world.client({ issuerAliases: { [named]: world.as.origin } });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
  });

  it('[C-PRM-2] uses the first usable one of several authorization servers', async () => {
    const world = await createWorld();
    const broken = await openParty();
    broken.on(`GET ${ASM}`, { status: 500 });
    const servers = [broken.origin, world.as.origin];
    world.server.on(`GET ${PRM}/mcp`, {
      body: { resource: world.serverUrl, authorization_servers: servers },
    });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(broken.log).toHaveLength(1);
  });

  it.each([
    [10, 200],
    [11, 'temporarily_unavailable'],
  ])(
    '[C-PRM-2] asks ten authorization servers at most: with the usable one at place %i it ends with %s',
    async (place, outcome) => {
      const world = await createWorld();
      const broken = await openParty();
      const unusable = Array.from({ length: place - 1 }, (_, index) => `${broken.origin}/${index}`);
      for (const issuer of unusable) broken.on(`GET ${ASM}${new URL(issuer).pathname}`, { status: 500 });
      const [first = ''] = unusable;
      world.server.on(`GET ${PRM}/mcp`, {
        // Names that are repeated count once.
        body: { resource: world.serverUrl, authorization_servers: [first, ...unusable, world.as.origin] },
      });
      const work = world.client().fetch(world.serverUrl);
      expect(typeof outcome === 'number' ? (await work).status : await codeOf(work)).toBe(outcome);
      expect(broken.log).toHaveLength(place - 1);
    },
  );

  it('[C-PRM-2] lets the host order several authorization servers', async () => {
    const world = await createWorld();
    const other = await openParty();
    const servers = [other.origin, world.as.origin];
    world.server.on(`GET ${PRM}/mcp`, {
      body: { resource: world.serverUrl, authorization_servers: servers },
    });
    const client = world.client({ orderAuthorizationServers: (issuers) => [...issuers].reverse() });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(other.log).toEqual([]);
  });

  it.each([
    ['token_endpoint', 'https://evil.example/token'],
    ['registration_endpoint', 'https://evil.example/register'],
    ['authorization_endpoint', 'https://evil.example/authorize'],
    ['revocation_endpoint', 'https://evil.example/revoke'],
  ])('T106 rejects metadata whose %s is on another origin', async (name, endpoint) => {
    const world = await createWorld({ metadata: { [name]: endpoint } });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('endpoint_refused');
    expectNothingBegun(world);
  });

  it('T106 accepts an endpoint on a trusted origin', async () => {
    const world = await createWorld({ serverMetadata: false });
    const tokens = await openParty();
    tokens.on('POST /token', (asked) => forward(world, '/token', asked));
    describeServer(world, ASM, { token_endpoint: `${tokens.origin}/token` });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('endpoint_refused');
    expect((await world.client({ trustedOrigins: [tokens.origin] }).fetch(world.serverUrl)).status).toBe(200);
  });

  it.each([
    ['token_endpoint', 'http://as.example/token'],
    ['authorization_endpoint', 'http://as.example/authorize'],
    ['authorization_endpoint', 'javascript:alert(1)'],
    ['authorization_endpoint', 'data:text/html,x'],
    ['authorization_endpoint', 'file:///etc/passwd'],
    ['authorization_endpoint', 'a:$(calc)'],
    ['authorization_endpoint', 'https://x.example/"&calc&"'],
    ['authorization_endpoint', 'https://x.example/\nSet-Cookie: a=b'],
    ['authorization_endpoint', '%USERPROFILE%'],
    ['registration_endpoint', 'foo:bar'],
  ])(
    '[C-META-62 C-URL-40 C-URL-41 C-URL-43] T109 T110 metadata whose %s is %j is refused',
    async (name, endpoint) => {
      const world = await createWorld({ metadata: { [name]: endpoint } });
      expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_invalid');
      expectNothingBegun(world);
    },
  );

  it.each([[undefined], [[]], [['plain']], ['S256']])(
    '[C-PKCE-20 C-PKCE-22] T111 code_challenge_methods_supported %j: refuses to start',
    async (methods) => {
      const world = await createWorld({ metadata: { code_challenge_methods_supported: methods } });
      const code = await codeOf(world.client().fetch(world.serverUrl));
      expect(code).toBe(typeof methods === 'string' ? 'metadata_invalid' : 'pkce_unsupported');
      expectNothingBegun(world);
    },
  );

  it.each([
    [{ require_signed_request_object: true }, 'signed authorization requests only'],
    [{ require_pushed_authorization_requests: true }, 'no pushed_authorization_request_endpoint'],
  ])('does not start a sign-in that the metadata rules out: %j', async (metadata, message) => {
    const world = await createWorld({ metadata });
    await expect(world.client().fetch(world.serverUrl)).rejects.toMatchObject({
      code: 'metadata_invalid',
      message: expect.stringContaining(message),
    });
    expectNothingBegun(world);
    const not = Object.fromEntries(Object.keys(metadata).map((name) => [name, false]));
    const other = await createWorld({ metadata: not });
    expect((await other.client().fetch(other.serverUrl)).status).toBe(200);
  });

  it.each([
    ['response_types_supported', ['code id_token', 'token'], ['token', 'code']],
    ['grant_types_supported', ['client_credentials'], ['authorization_code']],
    ['bearer_methods_supported', ['body', 'query'], ['body', 'header']],
  ])('does not start a sign-in when %s is %j', async (name, listed, enough) => {
    const setUp = (list: readonly string[] | undefined) =>
      createWorld(
        name === 'bearer_methods_supported' ? { resource: { [name]: list } } : { metadata: { [name]: list } },
      );
    const world = await setUp(listed);
    await expect(world.client().fetch(world.serverUrl)).rejects.toMatchObject({
      code: 'metadata_invalid',
      message: expect.stringMatching(
        `^${name.startsWith('bearer') ? world.serverUrl : world.issuer}.*${name}`,
      ),
    });
    expectNothingBegun(world);
    // Not all servers list anything.
    for (const list of [enough, [], undefined]) {
      const other = await setUp(list);
      expect((await other.client().fetch(other.serverUrl)).status).toBe(200);
    }
  });

  it('[C-PKCE-23] T111 rejects an OpenID document without PKCE support', async () => {
    const world = await createWorld({ serverMetadata: false });
    describeServer(world, OIDC, { code_challenge_methods_supported: undefined });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('pkce_unsupported');
    expectNothingBegun(world);
  });

  it('does not require PKCE metadata in a revision that presumes PKCE', async () => {
    const world = await createWorld({ metadata: { code_challenge_methods_supported: undefined } });
    expect((await world.client({ revision: '2025-06-18' }).fetch(world.serverUrl)).status).toBe(200);
  });
});

describe('outages', () => {
  it('names the authorization server that is unreachable', async () => {
    const world = await createWorld();
    await world.as.close();
    const client = createNodeClient({ serverUrl: world.serverUrl });
    await expect(client.fetch(world.serverUrl)).rejects.toMatchObject({
      code: 'unreachable',
      message: `${world.issuer} could not be reached.`,
    });
  });

  const own: WorldSettings = { resourceMetadata: false, oneOrigin: true, serverMetadata: false };

  it.each([
    ['resource metadata', `${PRM}/mcp`, 500, 'temporarily_unavailable'],
    ['resource metadata', `${PRM}/mcp`, 503, 'temporarily_unavailable'],
    ['resource metadata', PRM, 502, 'temporarily_unavailable'],
    ['resource metadata', `${PRM}/mcp`, 429, 'temporarily_unavailable'],
    ['resource metadata', `${PRM}/mcp`, 302, 'redirected'],
    ['server metadata', ASM, 500, 'temporarily_unavailable'],
    ['server metadata', ASM, 408, 'temporarily_unavailable'],
    ['server metadata', ASM, 301, 'redirected'],
  ])(
    '[C-META-61] %s at %s with status %i is an error, not a downgrade',
    async (_what, path, status, code) => {
      const world = await createWorld(own);
      world.server.on(`GET ${path}`, { status, headers: { location: '/login' } });
      expect(await codeOf(world.client().fetch(world.serverUrl))).toBe(code);
      expectNothingBegun(world);
    },
  );

  it.each([400, 401, 403, 404, 405, 410])(
    '[C-META-61] status %i means that there is no document',
    async (status) => {
      const world = await createWorld(own);
      for (const path of [`${PRM}/mcp`, PRM, ASM]) world.server.on(`GET ${path}`, { status });
      expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    },
  );

  it('[C-META-61] tries the next metadata URL after status 502', async () => {
    const world = await createWorld({ serverMetadata: false });
    world.as.on(`GET ${ASM}`, { status: 502 });
    describeServer(world, OIDC, {});
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
  });

  const page = { body: '<!doctype html><title>Welcome</title>', headers: { 'content-type': 'text/html' } };

  it('[C-META-21] tries the next metadata URL where a web application has a page for every path', async () => {
    const world = await createWorld({ serverMetadata: false });
    world.as.on(`GET ${ASM}`, page);
    world.as.on(`GET ${OIDC}`, page);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_invalid');
    expectNothingBegun(world);
    describeServer(world, OIDC, { issuer: 'https://other.example' });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('issuer_mismatch');
    expectNothingBegun(world);
    describeServer(world, OIDC, {});
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
  });

  it('tries the next metadata URL where a web application redirects to its sign-in page, and follows no redirect', async () => {
    const world = await createWorld({ serverMetadata: false });
    const redirect = { status: 302, headers: { location: `${world.issuer}/login` } };
    world.as.on(`GET ${ASM}`, redirect);
    world.as.on(`GET ${OIDC}`, redirect);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('redirected');
    expectNothingBegun(world);
    describeServer(world, OIDC, {});
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(world.as.asked('/login')).toEqual([]);
  });

  it('[C-PRM-24] a page in place of resource metadata leads to the root, and is no reason for the oldest revision', async () => {
    const world = await createWorld({ ...own, serverMetadata: true });
    world.server.on(`GET ${PRM}/mcp`, page);
    world.server.on(`GET ${PRM}`, page);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_invalid');
    expectNothingBegun(world);
    world.server.on(`GET ${PRM}`, {
      body: { resource: world.serverUrl, authorization_servers: [world.issuer] },
    });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
  });

  it('[C-META-61] reports a closed connection and invalid JSON as errors', async () => {
    const world = await createWorld(own);
    world.server.on(`GET ${ASM}`, () => null);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('unreachable');
    world.server.on(`GET ${ASM}`, { body: '<!doctype html><title>Welcome</title>' });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_invalid');
    expectNothingBegun(world);
  });

  it('[C-META-61] omits the version header in a browser where CORS does not allow it', async () => {
    const world = await createWorld();
    const client = world.client({
      oauthFetch: (input, init) => {
        const preflighted = new Headers(init?.headers).has('mcp-protocol-version');
        return preflighted ? Promise.reject(new TypeError('Failed to fetch')) : fetch(input, init);
      },
    });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
  });

  it('does not cache an outage', async () => {
    const world = await createWorld();
    let broken = true;
    const client = world.client({
      oauthFetch: (input, init) =>
        broken ? Promise.reject(new TypeError('fetch failed')) : fetch(input, init),
    });
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('unreachable');
    broken = false;
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
  });
});

describe('hostile documents', () => {
  it('T112 stops reading a document of many megabytes', async () => {
    const world = await createWorld();
    world.as.on(`GET ${ASM}`, { body: { issuer: 'x'.repeat(20_000_000) } });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('response_too_large');
    expectNothingBegun(world);
  });

  it('T112 times out on a slow document', async () => {
    const world = await createWorld();
    world.as.on(`GET ${ASM}`, () => new Promise(() => undefined));
    const client = world.client({ limits: { timeout: 100 } });
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('unreachable');
  });

  it('T112 times out with a fetch that never settles and ignores its signal', async () => {
    const world = await createWorld();
    const never = () => new Promise<Response>(() => undefined);
    const stalled = async () =>
      new Response(new ReadableStream({ cancel: () => new Promise(() => undefined) }), { status: 401 });
    for (const oauthFetch of [never, stalled]) {
      const client = world.client({ limits: { timeout: 100 }, oauthFetch });
      expect(await codeOf(client.fetch(world.serverUrl))).toBe('unreachable');
    }
    expectNothingBegun(world);
  });

  it.each([
    ['deep nesting', `{"issuer":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
    ['an issuer that is a list', '{"issuer":["a","b"]}'],
    ['a list', '[]'],
    ['null', 'null'],
  ])('T112 rejects a document with %s', async (_what, body) => {
    const world = await createWorld();
    world.as.on(`GET ${ASM}`, { headers: { 'content-type': 'application/json' }, body });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('metadata_invalid');
    expectNothingBegun(world);
  });

  it('T112 ignores members named like object prototype properties', async () => {
    const world = await createWorld({ serverMetadata: false });
    const { origin } = world.as;
    const honest = `"issuer":"${origin}","authorization_endpoint":"${origin}/authorize","token_endpoint":"${origin}/token","registration_endpoint":"${origin}/register","code_challenge_methods_supported":["S256"]`;
    world.as.on(`GET ${ASM}`, {
      headers: { 'content-type': 'application/json' },
      body: `{${honest},"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}`,
    });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('[C-SSRF-44] sends every request through the fetch of the host', async () => {
    const world = await createWorld();
    const seen: string[] = [];
    const client = world.client({
      fetch: (input, init) => {
        seen.push(new URL(input instanceof Request ? input.url : input).pathname);
        return fetch(input, init);
      },
    });
    await client.fetch(world.serverUrl);
    const direct = [...world.server.log, ...world.as.log]
      .map(({ path }) => path)
      .filter((path) => path !== '/authorize');
    expect(seen.toSorted()).toEqual(direct.toSorted());
  });
});

/** Replaces the 401 of the server. */
function challengeWith(world: World, challenge: string): void {
  world.server.on('/mcp', ({ headers, method }) => {
    const token = /^Bearer (.+)$/.exec(headers.get('authorization') ?? '')?.[1] ?? '';
    const granted = world.tokens.get(token);
    if (granted !== undefined) return { body: { method, granted } };
    return { status: 401, headers: { 'www-authenticate': challenge } };
  });
}

/** Puts an honest document, with changes, at a place. */
function describeServer({ as }: World, place: string, changes: Readonly<Record<string, unknown>>): void {
  as.on(`GET ${place}`, {
    body: {
      issuer: as.origin,
      authorization_endpoint: `${as.origin}/authorize`,
      token_endpoint: `${as.origin}/token`,
      registration_endpoint: `${as.origin}/register`,
      code_challenge_methods_supported: ['S256'],
      ...changes,
    },
  });
}

/** Answers as another path of the authorization server would. */
async function forward(
  { as }: World,
  path: string,
  asked: { method: string; target: string; headers: Headers; body: string },
) {
  const query = asked.target.includes('?') ? asked.target.slice(asked.target.indexOf('?')) : '';
  const headers = new Headers(asked.headers);
  for (const name of ['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])
    headers.delete(name);
  const response = await fetch(`${as.origin}${path}${query}`, {
    method: asked.method,
    headers,
    redirect: 'manual',
    ...(asked.body !== '' && { body: asked.body }),
  });
  const location = response.headers.get('location');
  return {
    status: response.status,
    ...(location !== null && { headers: { location } }),
    body: location === null ? await response.json() : '',
  };
}

it('passes on calls that require no token', async () => {
  const world = await createWorld();
  world.server.on('GET /mcp', { body: 'open' });
  await world.client().fetch(world.serverUrl);
  expect(calls(world)).toHaveLength(1);
});

describe('servers that deviate from the specification', () => {
  it('sends another resource indicator, or none, to an issuer of resourceIndicators', async () => {
    for (const [wanted, sent] of [
      ['api://notes', 'api://notes'],
      [null, null],
    ] as const) {
      const world = await createWorld();
      const resourceIndicators = { [world.issuer]: wanted, 'https://other.example': 'x' };
      const client = world.client({ resourceIndicators });
      expect((await client.fetch(world.serverUrl)).status).toBe(200);
      expect(world.user.opened[0]?.searchParams.get('resource') ?? null).toBe(sent);
      expect(world.as.asked('/token')[0]?.form.get('resource') ?? null).toBe(sent);
    }
    const world = await createWorld();
    await world.client({ resourceIndicators: { 'https://other.example': null } }).fetch(world.serverUrl);
    expect(world.user.opened[0]?.searchParams.get('resource')).toBe(world.serverUrl);
  });

  it.each([
    ['invalid_target', 'no'],
    ['invalid_request', 'AADSTS9010010: the resource parameter does not match'],
  ])('explains how to configure a resource that the issuer refuses: %s', async (error, error_description) => {
    const world = await createWorld();
    world.as.on('POST /token', { status: 400, body: { error, error_description } });
    await expect(world.client().fetch(world.serverUrl)).rejects.toThrow('resourceIndicators');
    world.as.on('POST /token', { status: 400, body: { error: 'invalid_grant' } });
    await expect(world.client().fetch(world.serverUrl)).rejects.not.toThrow('resourceIndicators');
  });

  it('suggests issuerAliases for an issuer that differs by a slash, which then works', async () => {
    const world = await createWorld();
    const named = `${world.issuer}/`;
    world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
      body: { resource: world.serverUrl, authorization_servers: [named] },
    });
    await expect(world.client().fetch(world.serverUrl)).rejects.toThrow('issuerAliases');
    const client = world.client({ issuerAliases: { [named]: world.issuer } });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
  });
});
