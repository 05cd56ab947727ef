/** `portcullis doctor`: no errors for our own server; for broken ones the error, the requirement and who has to fix it. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import {
  type PortcullisHere,
  startGatewayHere,
  startPortcullisHere,
} from '../../../tests/support/portcullis-here.ts';
import { createUser } from '../../../tests/support/user.ts';
import { createWorld, type World, type WorldSettings } from '../../client/test/support/world.ts';
import { TINY } from '../../gateway/test/support/stdio-server.ts';
import { examine } from '../src/doctor/examine.ts';
import type { Report } from '../src/doctor/report.ts';
import { reportText } from '../src/doctor/report-text.ts';
import { ruleNames, ruleOf } from '../src/doctor/rules.ts';
import { type Computer, createComputer, withoutProgress } from './support/command.ts';

it('doctor exits with 4 for an unreachable server', async () => {
  const computer = createComputer();
  const { code, output } = await computer.run(['doctor', 'http://127.0.0.1:9/mcp', '--json']);
  const report: Report = JSON.parse(output);
  expect(report.findings).toMatchObject([{ severity: 'error', owner: 'network', temporary: true }]);
  expect(code).toBe(4);
  computer.close();
});

it('doctor explains that a server speaks plain http at an https address', async () => {
  const plain = createServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  const computer = createComputer();
  try {
    const { port } = plain.address() as AddressInfo;
    const { code, output } = await computer.run(['doctor', `https://127.0.0.1:${port}/mcp`, '--json']);
    const report: Report = JSON.parse(output);
    expect(report.findings).toMatchObject([
      { owner: 'network', temporary: true, message: expect.stringContaining('it answers plain http') },
    ]);
    expect(code).toBe(4);
  } finally {
    computer.close();
    plain.close();
  }
});

it('doctor says what to do about the certificate of an unknown authority', async () => {
  const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
  const certificate = { cert: fixture('localhost.pem'), key: fixture('localhost-key.pem') };
  const secure = createSecureServer(certificate);
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  const computer = createComputer();
  const url = `https://localhost:${(secure.address() as AddressInfo).port}/mcp`;
  const report: Report = JSON.parse((await computer.run(['doctor', url, '--json'])).output);
  expect(report.findings).toMatchObject([
    {
      message: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
      remedy: 'Serve a certificate that this computer trusts.',
    },
  ]);
  computer.close();
  secure.close();
});

it('doctor exits with 3 when only the sign-in of the user is missing', async () => {
  const world = await createWorld();
  const computer = createComputer();
  const words = ['doctor', world.serverUrl, '--sign-in', '--no-browser', '--json'];
  const { code, output } = await computer.run(words);
  const report: Report = JSON.parse(output);
  const errors = report.findings.filter(({ severity }) => severity === 'error');
  expect(errors).toMatchObject([
    {
      step: 'authorization',
      owner: 'you',
      message: 'There was no input.',
      remedy: 'Run it in a terminal, and finish signing in before the timeout.',
    },
  ]);
  expect(code).toBe(3);
  computer.close();
});

it('doctor accepts servers with public tools, which respond to some requests without a token', async () => {
  const at = { backend: { command: TINY }, review: 'auto' };
  const server = await startGatewayHere(
    [
      { path: '/shop', tools: { search: { public: true } }, ...at },
      { path: '/open', tools: { '*': { public: true } }, ...at },
      { path: '/all', merges: { shop: '/shop' } },
    ],
    false,
  );
  const computer = createComputer();
  for (const path of ['/shop', '/open', '/all']) {
    const { code, output } = await computer.run(['doctor', server.url + path]);
    expect(output).toContain(
      'a request without a token is answered with status 401, except public operations',
    );
    expect([code, output]).toEqual([0, expect.stringContaining('No errors.')]);
  }
  computer.close();
  await server.stop();
});

describe('with our own server', () => {
  let server: PortcullisHere;
  let computer: Computer;
  beforeAll(async () => {
    server = await startPortcullisHere();
    computer = createComputer(createUser(owner));
  });
  afterAll(async () => {
    computer.close();
    await server.stop();
  });

  it('doctor without --sign-in finds no errors at our own server and opens no browser', async () => {
    const opened = computer.opened().length;
    const { code, output, errors } = await computer.run(['doctor', server.resource]);
    expect([code, withoutProgress(errors)]).toEqual([0, '']);
    expect(output).toContain('No errors.');
    expect(output).toContain(`authorization server: ${server.url}`);
    expect(output).toContain(`resource: ${server.resource}`);
    expect(output).toContain('requires a user: --sign-in');
    expect(computer.opened()).toHaveLength(opened);
    expect(output).not.toContain('\x1b');
  });

  it('doctor suggests the resource URL for a wrong path', async () => {
    const { code, output } = await computer.run(['doctor', `${server.url}/wrong`]);
    expect(code).toBe(5);
    expect(output).toContain(`Did you mean ${server.resource}?`);
  });

  it('doctor --sign-in completes every step, stores nothing, and writes no secret into the report', async () => {
    const { code, output } = await computer.run(['doctor', server.resource, '--sign-in', '--json']);
    const report: Report = JSON.parse(output);
    expect(report.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(code).toBe(0);
    expect(report.steps.map(({ state }) => state)).toEqual(Array(7).fill('ok'));
    expect(report.decisions.map(({ about }) => about)).toEqual([
      ...['revisions', 'profile', 'authorization server', 'resource', 'scopes', 'registration'],
      'registered client',
    ]);
    expect(report.steps.at(-1)?.summary).toBe('tools/list succeeded, with MCP revision 2026-07-28');
    expect(report.claims.by).toBe('server');
    expect(report.claims.revisions).toContain('2026-07-28');
    expect(output).not.toMatch(/eyJ[\w-]{20}/);
    expect(Object.keys(report)).toEqual(['server', 'at', 'claims', 'findings', 'steps', 'decisions']);
    expect((await computer.run(['sessions'])).output).toBe('There are no sessions.\n');
  });

  it.each([[[]], [['--sign-in']]])(
    'doctor removes the client that it registered, with options %j',
    async (options) => {
      const list = ['clients', 'list', '--database', server.database, '--json'];
      const before = (await computer.run(list)).output;
      const { output } = await computer.run(['doctor', server.resource, ...options]);
      expect(output).toContain('registered client: removed');
      expect((await computer.run(list)).output).toBe(before);
    },
  );

  it('`clients list` shows a registered client that was not removed', async () => {
    const list = ['clients', 'list', '--database', server.database, '--json'];
    const before = (await computer.run(list)).output;
    await computer.run(['login', server.resource]);
    expect((await computer.run(list)).output).not.toBe(before);
  });
});

describe('the client registered by doctor', () => {
  const removalsIn = ({ decisions }: Report) =>
    decisions.filter(({ about }) => about === 'registered client');

  it('doctor removes its client with the registration access token, and explains why a client remains', async () => {
    const managed = async (status: number) => {
      const world = await createWorld();
      const answer = {
        client_id: 'c1',
        token_endpoint_auth_method: 'none',
        registration_access_token: 'its-own',
      };
      const body = { ...answer, registration_client_uri: `${world.issuer}/register/c1` };
      world.as.on('POST /register', { status: 201, body });
      world.as.on('DELETE /register/c1', { status });
      return { world, report: await look(world) };
    };
    const gone = await managed(204);
    expect(removalsIn(gone.report)).toMatchObject([{ choice: 'removed' }]);
    const [request] = gone.world.as.asked('/register/c1');
    expect([request?.method, request?.headers.get('authorization')]).toEqual(['DELETE', 'Bearer its-own']);
    expect(JSON.stringify(gone.report)).not.toContain('its-own');
    expect(removalsIn((await managed(500)).report)).toMatchObject([
      {
        choice: 'c1 remains',
        reason: expect.stringContaining('answered its removal with status 500. It has no tokens'),
      },
    ]);
  });

  it('doctor reports that its client remains, and is harmless, if the server cannot remove clients', async () => {
    const world = await createWorld();
    expect(removalsIn(await look(world))).toMatchObject([
      {
        choice: expect.stringMatching(/ remains$/),
        reason: expect.stringMatching(/^the server does not support removing clients .* It has no tokens/),
      },
    ]);
  });

  it('doctor registers no client if one is passed', async () => {
    const world = await createWorld();
    const registration = { preregistered: [{ clientId: 'mine' }] };
    const client = { serverUrl: world.serverUrl, registration };
    expect(removalsIn(await examine({ client, signIn: false, version: '1' }))).toEqual([]);
    expect(world.as.asked('/register')).toEqual([]);
  });
});

function look(world: World, signIn = false): Promise<Report> {
  const { browser, receiver } = world.user;
  return examine({ client: { serverUrl: world.serverUrl, browser, receiver }, signIn, version: '1' });
}

it('doctor reports no success for steps after the user denies access', async () => {
  const world = await createWorld();
  world.user.divert((arrived) => {
    arrived.searchParams.delete('code');
    arrived.searchParams.set('error', 'access_denied');
    return arrived;
  });
  const { steps } = await look(world, true);
  expect(steps.slice(4)).toEqual([
    { name: 'authorization', state: 'failed', summary: expect.stringContaining('returned no code') },
    { name: 'token', state: 'skipped', summary: 'not reached' },
    { name: 'call', state: 'skipped', summary: 'not reached' },
  ]);
});

function textOf(report: Report): string {
  const plain = (text: string) => text;
  return reportText(report, { bold: plain, faint: plain, good: plain, bad: plain });
}

/** The errors, as requirement and owner. */
function issues({ findings }: Report): readonly string[] {
  return findings
    .filter(({ severity }) => severity === 'error')
    .map(({ requirement, owner: whose }) => `${requirement}, ${whose}`);
}

interface Broken {
  readonly description: string;
  readonly settings?: WorldSettings;
  readonly change?: (world: World) => void;
  readonly signIn?: boolean;
  readonly expect: readonly string[];
}

const RESOURCE_METADATA = 'GET /.well-known/oauth-protected-resource/mcp';

const broken: readonly Broken[] = [
  {
    description: 'a server without access control',
    change: ({ server }) => server.on('/mcp', { body: {} }),
    expect: ['S-401-2, server'],
  },
  {
    description: 'a server that redirects to a login page',
    change: ({ server }) => server.on('/mcp', { status: 302, headers: { location: '/login' } }),
    expect: ['S-401-2, server'],
  },
  {
    description: 'a server that forbids initialize, and challenges only other requests',
    change: ({ server }) =>
      server.on('/mcp', ({ body }) => (body.includes('"initialize"') ? { status: 403 } : { status: 401 })),
    expect: ['S-401-2, server'],
  },
  {
    description: 'a 401 without a challenge',
    change: ({ server }) => server.on('/mcp', { status: 401 }),
    expect: ['S-BEAR-66, server'],
  },
  {
    description: 'a 401 with another scheme',
    change: ({ server }) =>
      server.on('/mcp', { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }),
    expect: ['S-WA-60, server'],
  },
  {
    description: 'a server that takes any token',
    change: ({ server }) =>
      server.on('/mcp', ({ headers }) =>
        headers.has('authorization')
          ? { body: {} }
          : { status: 401, headers: { 'www-authenticate': 'Bearer realm="x"' } },
      ),
    expect: ['S-VAL-3, server'],
  },
  {
    description: 'a challenge that names metadata where there is none',
    change: ({ server }) => server.on(RESOURCE_METADATA, { status: 404 }),
    expect: ['S-PRM-20, server'],
  },
  {
    description: 'metadata that requires a token',
    change: ({ server }) => server.on(RESOURCE_METADATA, { status: 401 }),
    expect: ['S-PRM-5, server'],
  },
  {
    description: 'metadata that is a web page',
    change: ({ server }) => server.on(RESOURCE_METADATA, { body: '<h1>hello</h1>' }),
    expect: ['S-PRM-62, server'],
  },
  {
    description: 'metadata with status 500',
    change: ({ server }) => server.on(RESOURCE_METADATA, { status: 500 }),
    expect: ['null, server'],
  },
  {
    description: 'metadata without an authorization server',
    settings: { resource: { authorization_servers: [] } },
    expect: ['S-PRM-2, server'],
  },
  {
    description: 'metadata of another server',
    settings: { resource: { resource: 'https://elsewhere.example/mcp' } },
    expect: ['S-PRM-64, server'],
  },
  {
    description: 'an authorization server without metadata',
    settings: { serverMetadata: false },
    expect: ['AS-META-20, authorization server'],
  },
  {
    description: 'metadata of another issuer',
    settings: { metadata: { issuer: 'https://elsewhere.example' } },
    expect: ['AS-META-60, authorization server'],
  },
  {
    description: 'metadata with a member that is null',
    settings: { metadata: { jwks_uri: null } },
    expect: ['AS-META-71, authorization server'],
  },
  {
    description: 'no PKCE in the metadata',
    settings: { metadata: { code_challenge_methods_supported: undefined } },
    expect: ['AS-META-62, authorization server'],
  },
  {
    description: 'an endpoint without https',
    settings: { metadata: { token_endpoint: 'http://as.example/token' } },
    expect: ['AS-HTTPS-1, authorization server'],
  },
  {
    description: 'an endpoint at another origin',
    settings: { metadata: { token_endpoint: 'https://elsewhere.example/token' } },
    expect: ['null, authorization server'],
  },
  {
    description: 'no registration method',
    settings: { metadata: { registration_endpoint: undefined } },
    expect: ['null, you'],
  },
  {
    description: 'metadata of the oldest revision without PKCE',
    settings: {
      resourceMetadata: false,
      oneOrigin: true,
      metadata: { code_challenge_methods_supported: undefined },
    },
    expect: ['AS-META-62, authorization server'],
  },
  {
    description: 'a registration that is refused',
    change: ({ as }) => as.on('POST /register', { status: 400, body: { error: 'invalid_redirect_uri' } }),
    expect: ['AS-DCR-60, authorization server'],
  },
  {
    description: 'a registration that is refused at its default path',
    settings: { resourceMetadata: false, serverMetadata: false, oneOrigin: true },
    change: ({ as }) => as.on('POST /register', { status: 400, body: { error: 'invalid_redirect_uri' } }),
    expect: ['AS-DCR-60, authorization server'],
  },
  {
    description: 'a server without metadata, and without an authorization server at its origin',
    settings: { resourceMetadata: false, serverMetadata: false },
    expect: ['null, server'],
  },
  {
    description: 'a registration without an identifier',
    settings: { registration: { client_id: undefined } },
    expect: ['AS-DCR-61, authorization server'],
  },
  {
    description: 'an authorization endpoint that refuses',
    change: ({ as }) => as.on('GET /authorize', { status: 400, body: 'what?' }),
    expect: ['AS-AUTHZ-1, authorization server'],
  },
  {
    description: 'an authorization response of another issuer',
    settings: { responseIssuer: 'https://elsewhere.example' },
    signIn: true,
    expect: ['AS-ISS-60, authorization server'],
  },
  {
    description: 'a token response that may be cached',
    signIn: true,
    expect: ['AS-TOK-65, authorization server'],
  },
  {
    description: 'a token endpoint that refuses the code',
    change: ({ as }) =>
      as.on('POST /token', {
        status: 400,
        headers: { 'cache-control': 'no-store' },
        body: { error: 'invalid_grant' },
      }),
    signIn: true,
    expect: ['AS-TOK-64, authorization server'],
  },
  {
    description: 'a server that refuses the tokens of its own authorization server',
    change: ({ as }) =>
      as.on('POST /token', {
        headers: { 'cache-control': 'no-store' },
        body: { access_token: 'for-another-server', token_type: 'Bearer' },
      }),
    signIn: true,
    expect: ['S-AUD-1, server'],
  },
];

describe('with a scripted server', () => {
  it('doctor finds no errors in a correct server', async () => {
    const report = await look(await createWorld());
    expect(issues(report)).toEqual([]);
    expect(report.steps.map(({ state }) => state)).toEqual([...Array(5).fill('ok'), 'skipped', 'skipped']);
  });

  it('doctor applies the oldest revision to a server without metadata', async () => {
    const report = await look(await createWorld({ resourceMetadata: false, oneOrigin: true }));
    expect(issues(report)).toEqual([]);
    expect(report.decisions[1]).toMatchObject({
      choice: '2025-03-26',
      reason: expect.stringContaining('there is no protected resource metadata'),
    });
    const bare = await look(
      await createWorld({ resourceMetadata: false, oneOrigin: true, serverMetadata: false }),
    );
    expect(issues(bare)).toEqual([]);
    expect(bare.decisions[2]?.reason).toContain('the default paths apply');
  });

  it.each(broken)(
    'doctor names the violated requirement and its owner for $description',
    async ({ settings, change, signIn, expect: names }) => {
      const world = await createWorld(settings);
      change?.(world);
      const report = await look(world, signIn);
      expect(issues(report)).toEqual(names);
      expect(report.steps.some(({ state }) => state === 'failed')).toBe(true);
    },
  );

  const mcpResult = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25', capabilities: {} } };
  const page = { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<h1>Welcome</h1>' };
  const withoutMetadata: WorldSettings = { resourceMetadata: false, serverMetadata: false };

  it.each([
    {
      description: 'an open MCP server',
      change: ({ server }: World) => server.on('/mcp', { body: mcpResult }),
      message: 'This is an MCP server without authorization: it answers requests without a token.',
      remedy: 'Leave it as it is if anyone may use it.',
      owner: 'server',
    },
    {
      description: 'an open MCP server that refuses the first message with a JSON-RPC error',
      change: ({ server }: World) =>
        server.on('/mcp', {
          status: 400,
          body: { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'x' } },
        }),
      message: 'This is an MCP server without authorization',
      remedy: '',
      owner: 'server',
    },
    {
      description: 'a web page',
      change: ({ server }: World) => server.on('/mcp', page),
      message: 'This is a web page, not an MCP server.',
      remedy: 'Check the path, which is often /mcp.',
      owner: 'you',
    },
    {
      description: 'a mistyped path beside a protected server',
      path: '/mpc',
      change: () => undefined,
      message: 'There is no MCP server at this address: it answered with status 404.',
      remedy: '/mcp?',
      owner: 'you',
    },
    {
      description: 'a mistyped path beside an open server',
      path: '/',
      change: ({ server }: World) => server.on('/mcp', { body: mcpResult }),
      message: 'There is no MCP server at this address: it answered with status 404.',
      remedy: '/mcp?',
      owner: 'you',
    },
    {
      description: 'a redirect to another address, whose query it does not show',
      change: ({ server }: World) =>
        server.on('/mcp', { status: 308, headers: { location: '/v2/mcp?code=SECRET#more' } }),
      message: '/v2/mcp, which clients do not follow',
      remedy: 'Pass the address of the MCP server itself.',
      owner: 'you',
    },
    {
      description: 'another API',
      change: ({ server }: World) => server.on('/mcp', { body: { hello: 'there' } }),
      message: 'There is no MCP server at this address: it answered with application/json.',
      remedy: 'Check the path',
      owner: 'you',
    },
  ])('doctor recognizes $description and examines nothing else', async ({ change, path, ...expected }) => {
    const world = await createWorld(withoutMetadata);
    change(world);
    const client = { serverUrl: `${world.server.origin}${path ?? '/mcp'}` };
    const report = await examine({ client, signIn: false, version: '1' });
    expect(report.findings).toMatchObject([
      {
        severity: 'error',
        requirement: null,
        owner: expected.owner,
        message: expect.stringContaining(expected.message),
        remedy: expect.stringContaining(expected.remedy),
      },
    ]);
    expect(report.steps.map(({ state }) => state)).toEqual(['failed', ...Array(6).fill('skipped')]);
    expect(world.as.log).toEqual([]);
    const text = textOf(report);
    expect(text.indexOf(expected.message)).toBeGreaterThan(-1);
    expect(text.indexOf(expected.message)).toBeLessThan(text.indexOf('ERROR request'));
    expect(text.indexOf(expected.message)).toBeLessThan(text.indexOf('Decisions'));
  });

  it('doctor calls a server out of order temporary', async () => {
    const world = await createWorld();
    world.server.on('/mcp', { status: 503 });
    const report = await look(world);
    expect(report.findings).toMatchObject([{ temporary: true, owner: 'server', requirement: null }]);
  });

  it('doctor does not call a server out of order that does not implement POST', async () => {
    const world = await createWorld();
    world.server.on('/mcp', { status: 501 });
    const report = await look(world);
    expect(report.findings.filter(({ temporary }) => temporary)).toEqual([]);
    expect(report.findings.map(({ message }) => message).join()).not.toContain('out of order');
  });

  it('doctor prints each error before its requirement, and all before its steps and decisions', async () => {
    const world = await createWorld({ metadata: { issuer: 'https://elsewhere.example' } });
    const text = textOf(await look(world));
    expect(text).toMatch(/^http\S+\n\nErrors\n {2}The metadata of \S+ names another issuer, .*\[AS-META-60/);
    expect(text.indexOf('Warnings')).toBeLessThan(text.indexOf('ok    request'));
  });

  it('doctor blames the network for an unreachable server', async () => {
    const client = { serverUrl: 'http://127.0.0.1:9/mcp' };
    const report = await examine({ client, signIn: false, version: '1' });
    expect(issues(report)).toEqual(['null, network']);
    expect(report.steps.slice(1).every(({ state }) => state === 'skipped')).toBe(true);
    expect(JSON.stringify(report)).not.toContain('it publishes');
  });

  it.each([
    [
      'a JSON response',
      { status: 400, body: { error: 'invalid_target', error_description: 'No such resource.' } },
      'answered with status 400: invalid_target, No such resource. The authorization server does not know this server: add it',
    ],
    [
      'a page',
      {
        status: 400,
        headers: { 'content-type': 'text/html' },
        body: '<a href="http://127.0.0.1:47471/callback?error=invalid_target&amp;error_description=Unknown.&amp;state=x">x</a>',
      },
      'answered with status 400: invalid_target, Unknown. The authorization server does not know this server: add it',
    ],
    [
      'a redirect',
      { status: 303, headers: { location: 'http://127.0.0.1:47471/callback?error=invalid_scope' } },
      'refused the request: invalid_scope.',
    ],
  ])('doctor quotes the authorization endpoint’s error from %s', async (_how, response, expected) => {
    const world = await createWorld();
    world.as.on('GET /authorize', response);
    const report = await look(world);
    expect(issues(report)).toEqual(['AS-AUTHZ-1, authorization server']);
    expect(report.findings.find(({ severity }) => severity === 'error')?.message).toContain(expected);
  });

  it('doctor reports a failed call after successful authorization as a warning', async () => {
    const world = await createWorld();
    world.server.on('/mcp', ({ headers }) =>
      world.tokens.has(headers.get('authorization')?.slice(7) ?? '')
        ? { status: 500, body: '<h1>down</h1>' }
        : { status: 401, headers: { 'www-authenticate': 'Bearer scope="a"' } },
    );
    const report = await look(world, true);
    const finding = report.findings.find(({ step }) => step === 'call');
    expect(finding).toMatchObject({ severity: 'warning', owner: 'server' });
    expect(finding?.message).toContain('status 500');
  });

  it('T147 doctor removes control sequences of a server from its reports', async () => {
    const evil = '\x1b]0;owned\x07\x1b[31m<img src=x onerror=alert(1)>\u202e';
    const world = await createWorld({ metadata: { issuer: `https://as.example/${evil}` } });
    world.server.on('/mcp', {
      status: 401,
      headers: { 'www-authenticate': 'Bearer error="<script>alert(1)</script>"' },
    });
    const report = await look(world);
    const text = textOf(report);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe('which revisions a server is checked against', () => {
  /** A server that accepts sessions of these revisions, and lists them if it supports the newest. */
  function speaking(world: World, revisions: readonly string[]): void {
    world.server.on('/mcp', ({ headers, body, method }) => {
      if (!world.tokens.has(headers.get('authorization')?.replace('Bearer ', '') ?? '')) {
        // Only revision 2025-06-18 requires resource_metadata in the challenge.
        return { status: 401, headers: { 'www-authenticate': 'Bearer realm="x", scope="a"' } };
      }
      if (method !== 'POST') return { status: 405 };
      const { id, method: asked, params } = JSON.parse(body);
      const answer = (result: object) => ({ body: { jsonrpc: '2.0', id, result } });
      if (asked === 'server/discover' && revisions.includes('2026-07-28'))
        return answer({ supportedVersions: revisions });
      if (asked === 'initialize') {
        const offered = params.protocolVersion;
        return answer({ protocolVersion: revisions.includes(offered) ? offered : revisions[0] });
      }
      if (asked === 'tools/list') return answer({ tools: [] });
      return id === undefined
        ? { status: 202 }
        : { body: { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } } };
    });
    world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
      body: { resource: world.serverUrl, authorization_servers: [world.issuer], scopes_supported: ['a'] },
    });
  }

  it.each<[readonly string[], 'error' | null]>([
    [['2025-06-18'], 'error'],
    [['2025-11-25'], null],
    [['2026-07-28'], null],
    [['2025-03-26'], null],
    [['2025-06-18', '2026-07-28'], 'error'],
    [['2025-03-26', '2025-06-18', '2025-11-25'], 'error'],
  ])('doctor --sign-in checks a server against the revisions it states: %j', async (revisions, severity) => {
    const world = await createWorld();
    speaking(world, revisions);
    const report = await look(world, true);
    expect(report.claims).toMatchObject({ by: 'server', revisions });
    const finding = report.findings.find(({ requirement }) => requirement === 'S-401-1');
    expect([finding?.severity ?? null, finding?.revisions ?? []]).toEqual([
      severity,
      severity === null ? [] : ['2025-06-18'],
    ]);
    expect(report.decisions[0]).toMatchObject({ about: 'revisions', choice: revisions.join(', ') });
  });

  it('doctor without --sign-in applies the newest possible revision, and warns about older ones', async () => {
    const world = await createWorld();
    speaking(world, ['2026-07-28']);
    const report = await look(world);
    expect(report.claims).toMatchObject({
      by: 'evidence',
      revisions: ['2025-06-18', '2025-11-25', '2026-07-28'],
    });
    const finding = report.findings.find(({ requirement }) => requirement === 'S-401-1');
    expect(finding).toMatchObject({ severity: 'warning', revisions: ['2025-06-18'] });
    expect(issues(report)).toEqual([]);
  });

  it('doctor applies only a pinned revision', async () => {
    const world = await createWorld();
    speaking(world, ['2026-07-28']);
    for (const [revision, expected] of [
      ['2025-06-18', ['S-401-1, server']],
      ['2025-11-25', []],
    ] as const) {
      const client = { serverUrl: world.serverUrl, revision };
      expect(issues(await examine({ client, signIn: false, version: '1' }))).toEqual(expected);
    }
  });

  it('doctor warns that older clients do not find OpenID Connect metadata', async () => {
    const world = await createWorld({ serverMetadata: false });
    world.as.on('GET /.well-known/openid-configuration', {
      body: {
        issuer: world.issuer,
        authorization_endpoint: `${world.issuer}/authorize`,
        token_endpoint: `${world.issuer}/token`,
        registration_endpoint: `${world.issuer}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      },
    });
    const finding = (await look(world)).findings.find(({ requirement }) => requirement === 'AS-META-2');
    expect(finding).toMatchObject({ severity: 'warning', revisions: ['2025-06-18'] });
  });
});

it('doctor reports an authorization server without metadata, and explains which it uses and how it registers', async () => {
  const world = await createWorld();
  world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
    body: { resource: world.serverUrl, authorization_servers: [world.server.origin, world.issuer] },
  });
  const report = await look(world);
  const about = (name: string) => report.decisions.find((decision) => decision.about === name)?.reason;
  expect(about('authorization server')).toBe('the first usable one of 2');
  expect(issues(report)).toEqual(['AS-META-20, authorization server']);
  expect(textOf(report)).toMatch(
    new RegExp(`The authorization server ${world.server.origin} has no metadata: .* \\(404\\)`),
  );
  expect(about('registration')).toContain('not metadata-document: no metadata document was passed');
});

it('every doctor rule cites an existing requirement with its owner and revisions', () => {
  const path = new URL('../../../docs/requirements/requirements.json', import.meta.url);
  const all: readonly { id: string; level: string; role: string; revisions: string }[] = JSON.parse(
    readFileSync(path, 'utf8'),
  );
  for (const id of ruleNames) {
    const { owner: whose, severity, revisions } = ruleOf(id);
    const requirement = all.find((one) => one.id === id);
    expect([id, requirement?.role]).toEqual([id, whose === 'server' ? 'server' : 'AS']);
    expect([id, requirement?.revisions]).toEqual([id, expect.stringContaining(revisions)]);
    if (severity === 'error') expect([id, requirement?.level.startsWith('MUST')]).toEqual([id, true]);
  }
});
