/** The token of a server stays below the path of its resource: other servers of the same origin never see it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClientOptions, createClient } from '../src/index.ts';
import { createTokenTargets } from '../src/tokens/token-target.ts';
import { codeOf, createWorld, type WorldSettings } from './support/world.ts';

const ORIGIN = 'https://mcp.example';

/** Whether a request to `target` carries the token. */
function carries(
  target: string,
  settings: { server?: string; resource?: string | null; to?: ClientOptions['sendTokenTo'] },
) {
  const { server = `${ORIGIN}/a/mcp`, resource = server, to = 'resource' } = settings;
  return createTokenTargets({ server, sendTokenTo: to })(new URL(target, ORIGIN).href, { resource });
}

describe('the URLs that receive a token for /a/mcp', () => {
  it.each([
    ['/a/mcp'],
    ['/a/mcp/'],
    ['/a/mcp/messages'],
    ['/a/mcp?session=1'],
    ['/a/./mcp'],
    ['/b/../a/mcp'],
    ['/a/mcp/x%20y'],
    ['/a/mcp/.well-known/x'],
    ['/a/mcp/v1.2;draft'],
    ['/a/mcp#fragment'],
  ])('%s receives it', (target) => {
    expect(carries(target, {})).toBe(true);
  });

  it.each([
    ['another server', '/b/mcp'],
    ['the parent', '/a'],
    ['the root', '/'],
    ['a longer segment', '/a/mcp-evil'],
    ['a longer segment with an extension', '/a/mcp.json'],
    ['a path parameter', '/a/mcp;x'],
    ['an encoded path parameter', '/a/mcp%3bx'],
    ['another case', '/A/mcp'],
    ['another case of the last segment', '/a/MCP'],
    ['an encoded separator instead of a segment', '/a%2fmcp'],
    ['an encoded letter', '/%61/mcp'],
    ['dot segments', '/a/mcp/../../b/mcp'],
    ['encoded dot segments', '/a/mcp/%2e%2e/%2E%2E/b/mcp'],
    ['backslashes', '/a/mcp\\..\\..\\b\\mcp'],
    ['encoded separators', '/a/mcp/..%2f..%2fb/mcp'],
    ['separators encoded twice', '/a/mcp/..%252f..%252fb/mcp'],
    ['dot segments encoded twice', '/a/mcp/%252e%252e/%252e%252e/b/mcp'],
    ['encoded backslashes', '/a/mcp/..%5c..%5cb'],
    ['dot segments with path parameters', '/a/mcp/..;/..;/b/mcp'],
    ['dot segments with encoded path parameters', '/a/mcp/..%3b/b'],
    ['an overlong encoding', '/a/mcp/..%c0%af..%c0%afb'],
    ['half an encoding', '/a/mcp/%%32%66'],
    ['a null character', '/a/mcp/%00'],
    ['another port', 'https://mcp.example:8443/a/mcp'],
    ['another scheme', 'http://mcp.example/a/mcp'],
    ['a subdomain', 'https://a.mcp.example/a/mcp'],
  ])('%s does not receive it', (_description, target) => {
    expect(carries(target, {})).toBe(false);
  });

  it('no path outside of the resource receives it, however it is written', () => {
    const piece = fc.constantFrom(
      'a',
      'mcp',
      'b',
      '.',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '%25',
      '2f',
      '2e',
      ';',
      '/',
      '/',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const url = URL.parse(`${ORIGIN}/a/mcp/${pieces.join('')}`);
        if (url === null || !carries(url.href, {})) return;
        let path = url.pathname;
        for (let round = 0; round < 8; round += 1) {
          expect(new URL(path.replaceAll(/;[^/]*/g, '').replaceAll('\\', '/'), ORIGIN).pathname).toMatch(
            /^\/a\/mcp(?:\/|$)/,
          );
          path = decodeURIComponent(path);
        }
      }),
    );
  });
});

describe('what the path of the token is', () => {
  it.each([
    ['the resource, where it is a parent of the server', `${ORIGIN}/a`, '/a/messages', true],
    ['the resource, in whole segments', `${ORIGIN}/a`, '/ab', false],
    ['the whole origin, where that is the resource', ORIGIN, '/b/mcp', true],
    ['the server, where no resource was requested', null, '/a/messages', false],
    ['the server, where the resource is configured as something else', 'api://notes', '/a/messages', false],
    ['the server, where the resource is below it', `${ORIGIN}/a/mcp/x`, '/a/mcp/y', true],
    ['the server, where the resource is at another origin', 'https://other.example/', '/b', false],
  ])('%s', (_description, resource, target, expected) => {
    expect(carries(target, { resource })).toBe(expected);
  });

  it('includes the query of a server that is identified by one', () => {
    const server = `${ORIGIN}/mcp?tenant=a`;
    expect(carries('/mcp?tenant=a', { server })).toBe(true);
    expect(carries('/mcp/messages?tenant=a', { server })).toBe(true);
    for (const target of ['/mcp', '/mcp?tenant=b', '/mcp?tenant=a&tenant=b', '/mcp/?tenant=b'])
      expect(carries(target, { server })).toBe(false);
  });

  it('does not depend on a trailing slash of the server', () => {
    expect(carries('/a/mcp', { server: `${ORIGIN}/a/mcp/` })).toBe(true);
    expect(carries('/a/mcp/x', { server: `${ORIGIN}/a/mcp/` })).toBe(true);
    expect(carries('/a/mcpx', { server: `${ORIGIN}/a/mcp/` })).toBe(false);
  });

  it('is widened by the option to the origin or to single URLs, never to another origin', () => {
    expect(carries('/b/mcp', { to: 'origin' })).toBe(true);
    expect(carries('https://other.example/a/mcp', { to: 'origin' })).toBe(false);
    const to = ({ pathname }: URL): boolean => pathname === '/messages';
    expect(carries('/messages', { to })).toBe(true);
    expect(carries('/b/mcp', { to })).toBe(false);
    expect(carries('https://other.example/messages', { to })).toBe(false);
  });
});

/** Two servers of one origin; the client belongs to `/a/mcp` and is signed in. */
async function twoServers(options: Partial<ClientOptions> = {}, settings: WorldSettings = {}) {
  const world = await createWorld({ path: '/a/mcp', ...settings });
  world.server.on('/b/mcp', { status: 401, body: 'b' });
  const client = world.client(options);
  await client.fetch(world.serverUrl);
  const b = `${world.server.origin}/b/mcp`;
  const tokensAtB = () => world.server.asked('/b/mcp').map(({ headers }) => headers.get('authorization'));
  return { world, client, b, tokensAtB };
}

describe('requests of a client', () => {
  it('reach another server of the origin without the token, and without a sign-in', async () => {
    const { world, client, b, tokensAtB } = await twoServers();
    expect((await client.fetch(b, { method: 'POST', body: 'x' })).status).toBe(401);
    expect(tokensAtB()).toEqual([null]);
    expect(world.user.opened).toHaveLength(1);
  });

  it.each([301, 302, 303, 307, 308])(
    'follow no redirect with status %i to another server',
    async (status) => {
      const { world, client, b, tokensAtB } = await twoServers();
      world.server.on('/a/mcp', { status, headers: { location: b } });
      expect(await codeOf(client.fetch(world.serverUrl, { method: 'POST', body: 'x' }))).toBe('redirected');
      expect(tokensAtB()).toEqual([]);
    },
  );

  it('follow no redirect to another server before there is a token either', async () => {
    const world = await createWorld({ path: '/a/mcp' });
    world.server.on('/a/mcp', { status: 307, headers: { location: '/b/mcp' } });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('redirected');
    expect(world.server.asked('/b/mcp')).toEqual([]);
  });

  it('follow a redirect to the same path with a trailing slash', async () => {
    const { world, client } = await twoServers();
    world.server.on('/a/mcp/', ({ headers }) => ({ body: headers.get('authorization') }));
    world.server.on('/a/mcp', { status: 307, headers: { location: '/a/mcp/' } });
    expect(await (await client.fetch(world.serverUrl)).text()).toMatch(/^Bearer at-/);
  });

  it('carry the token within the origin where the option says so', async () => {
    const { world, client, b, tokensAtB } = await twoServers({ sendTokenTo: 'origin' });
    world.server.on('/b/mcp', { body: 'b' });
    world.server.on('/a/mcp', { status: 307, headers: { location: b } });
    await client.fetch(b);
    await client.fetch(world.serverUrl);
    expect(tokensAtB()).toEqual(Array(2).fill(expect.stringMatching(/^Bearer at-/)));
  });

  it('carry the token below a resource that covers more than the server', async () => {
    const world = await createWorld({ path: '/a/mcp' });
    const { origin } = world.server;
    world.server.on('GET /.well-known/oauth-protected-resource/a/mcp', {
      body: { resource: `${origin}/a`, authorization_servers: [world.issuer] },
    });
    world.server.on('/a/messages', ({ headers }) => ({ body: headers.get('authorization') ?? 'none' }));
    const client = world.client();
    expect(await (await client.fetch(`${origin}/a/messages`)).text()).toBe('none');
    await client.fetch(world.serverUrl);
    expect(await (await client.fetch(`${origin}/a/messages`)).text()).toMatch(/^Bearer at-/);
  });

  it('are not possible with an unknown value of the option', async () => {
    const sendTokenTo = 'everywhere' as 'origin';
    const { client } = await twoServers();
    expect(() => createClient({ serverUrl: client.server, sendTokenTo })).toThrow(/sendTokenTo must be/);
    expect(createClient({ serverUrl: client.server, sendTokenTo: 'origin' }).server).toBe(client.server);
  });
});
