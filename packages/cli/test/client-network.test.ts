/** The client commands on real networks: unreachable servers, other web servers, proxies, and unknown certificate authorities. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { openCredentialStore } from '@portcullis/client/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reservePort } from '../../../tests/support/ports.ts';
import { createWorld, grant } from '../../client/test/support/world.ts';
import { createFetches } from '../src/client/fetches.ts';
import { withClient } from '../src/client/open-client.ts';
import { type Computer, createComputer } from './support/command.ts';
import { createContext } from './support/in-process.ts';
import { mcpResult } from './support/mcp-results.ts';

let computer: Computer;
const ends: (() => void)[] = [];

beforeEach(() => {
  computer = createComputer({
    // The scripted authorization server approves every request.
    authorize: async (url) =>
      new URL((await fetch(url, { redirect: 'manual' })).headers.get('location') ?? ''),
  });
});

afterEach(() => {
  computer.close();
  for (const end of ends.splice(0)) end();
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** Starts a protected server with a certificate of its own, which has no documents. @returns its port */
async function listenSecurely(asked: string[]): Promise<number> {
  const certificate = {
    cert: readFileSync(fixture('localhost.pem')),
    key: readFileSync(fixture('localhost-key.pem')),
  };
  const server = createSecureServer(certificate, (request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(request.url === '/mcp' ? 401 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe('an unreachable server', () => {
  it.each([['login'], ['call', 'whoami']])(
    '%s reports an unreachable server with exit code 4',
    async (...words) => {
      const url = `http://127.0.0.1:${await reservePort()}/mcp`;
      const [command = '', ...rest] = words;
      const { code, output, errors } = await computer.run([command, url, ...rest]);
      expect(output + errors).toContain(`could not be reached: connection refused`);
      expect(code).toBe(4);
    },
  );

  it('connect responds to each request with an error while the server is unreachable', async () => {
    const url = `http://127.0.0.1:${await reservePort()}/mcp`;
    const input = [1, 2].map((id) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`).join('');
    const { output } = await computer.runProcess(['connect', url], { input });
    const answers = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id }) => id).toSorted()).toEqual([1, 2]);
    expect(answers[0].error.message).toContain('connection refused');
  });
});

describe('another web server', () => {
  it.each<[string, number, string, number, string]>([
    ['no such path', 404, 'text/html', 1, 'check the path'],
    ['a page', 200, 'text/html', 1, 'a web page instead of an MCP message'],
    ['a page that does not allow POST', 405, 'text/plain', 1, 'check the path'],
    ['an outage', 503, 'text/html', 4, 'Try again later'],
    ['a server that denies access', 403, 'text/html', 2, 'status 403'],
  ])('call explains the response of %s: status %s, %s', async (_what, status, type, code, words) => {
    const origin = await listen((_request, response) =>
      response.writeHead(status, { 'content-type': type }).end('<h1>hello</h1>'),
    );
    const ended = await computer.run(['call', `${origin}/wrong`, 'whoami']);
    expect([ended.code, ended.output]).toEqual([code, '']);
    expect(ended.errors).toContain(words);
    expect(ended.errors).not.toContain('<h1>');
  });
});

it('call does not repeat the advice of a server to try again later', async () => {
  const said = { error: 'server_error', error_description: 'Something went wrong here. Try again later.' };
  const origin = await listen((_request, response) =>
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(said)),
  );
  const { code, errors } = await computer.run(['call', `${origin}/mcp`, 'whoami']);
  expect(code).toBe(4);
  expect(errors).toContain('Something went wrong here');
  expect(errors.match(/try again later/gi)).toHaveLength(1);
});

it('requests have no time limit for the head of the response, nor between the chunks of its body', async () => {
  const origin = await listen((_request, response) => response.end('done'));
  // Node creates the dispatcher with the first request.
  await fetch('data:,');
  const name = Symbol.for('undici.globalDispatcher.2');
  const usual = Reflect.get(globalThis, name);
  const dispatched: unknown[] = [];
  ends.push(() => Reflect.set(globalThis, name, usual));
  Reflect.set(globalThis, name, {
    dispatch(options: object, handler: unknown) {
      dispatched.push(options);
      return usual.dispatch(options, handler);
    },
  });
  const { fetch: own } = createFetches({ serverUrl: origin, trustedOrigins: [], environment: {} });
  expect(await (await own(`${origin}/mcp`)).text()).toBe('done');
  expect(dispatched).toEqual([expect.objectContaining({ path: '/mcp', headersTimeout: 0, bodyTimeout: 0 })]);
});

describe('a proxy', () => {
  /** Starts a proxy that records the hosts it should connect to, and finds all of them on this computer. */
  async function startProxy() {
    const carried: string[] = [];
    const server = createServer((_request, response) => response.writeHead(405).end());
    server.on('connect', (request, socket) => {
      carried.push(request.url ?? '');
      const port = /\d+$/.exec(request.url ?? '')?.[0];
      const onward = connect(Number(port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const one of [onward, socket]) one.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, carried };
  }

  it('login sends every request through the proxy of the environment', async () => {
    const asked: string[] = [];
    const port = await listenSecurely(asked);
    const proxy = await startProxy();
    // Nothing listens at this address: only the proxy leads to the server.
    const url = `https://127.0.0.2:${port}/mcp`;
    const login = (environment: Readonly<Record<string, string>>) =>
      computer.runProcess(['login', url], {
        environment: { NODE_TLS_REJECT_UNAUTHORIZED: '0', ...environment },
      });
    await login({ HTTPS_PROXY: proxy.url, NO_PROXY: 'elsewhere.example' });
    // Through the fetch for the server, and through the one with the SSRF guard.
    for (const path of ['/mcp', '/.well-known/oauth-protected-resource/mcp', '/register'])
      expect(asked).toContain(path);
    expect(new Set(proxy.carried.splice(0))).toEqual(new Set([`127.0.0.2:${port}`]));
    asked.splice(0);
    for (const direct of ['127.0.0.2', 'elsewhere.example 127.0.0.0/8', `10.1.2.3,127.0.0.2:${port}`, '*']) {
      expect((await login({ HTTPS_PROXY: proxy.url, NO_PROXY: direct })).code).toBe(4);
      expect([asked, proxy.carried]).toEqual([[], []]);
    }
  });

  it.each(['127.0.0.1', 'localhost', '[::1]'])(
    'T103 login sends no request to %s through a proxy, because it could contain secrets in clear text',
    async (host) => {
      const proxy = await startProxy();
      const environment = { HTTP_PROXY: proxy.url, NO_PROXY: 'elsewhere.example' };
      const url = `http://${host}:${await reservePort()}/mcp`;
      expect((await computer.runProcess(['login', url], { environment })).code).toBe(4);
      const world = await createWorld();
      const signedIn = await computer.runProcess(['login', world.serverUrl], { environment });
      expect([signedIn.code, proxy.carried]).toEqual([0, []]);
    },
  );

  it.each(['HTTP_PROXY', 'https_proxy'])(
    'T146 login does not print an invalid %s, which can contain a password',
    async (name) => {
      const world = await createWorld();
      const environment = { [name]: 'http://user:s3cret@127.0.0.1:99999' };
      const { code, output, errors } = await computer.runProcess(['login', world.serverUrl], { environment });
      expect([code, errors]).toEqual([1, expect.stringContaining('HTTP_PROXY must be http or https URLs')]);
      expect(output + errors).not.toContain('s3cret');
      expect(world.server.log).toEqual([]);
    },
  );

  it('T103 a proxy does not disable the SSRF guard against private addresses', async () => {
    const world = await createWorld({ resource: { authorization_servers: ['https://169.254.169.254'] } });
    const proxy = await startProxy();
    const environment = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
    const ended = await computer.runProcess(['login', world.serverUrl], { environment });
    expect([ended.code, ended.errors]).toEqual([5, expect.stringContaining('private network')]);
    expect(proxy.carried).toEqual([]);
  });

  it('T103 the SSRF guard checks the addresses of hosts that are reached without the proxy', async () => {
    const asked: string[] = [];
    const host = `rebind.example.com:${await listenSecurely(asked)}`;
    const world = await createWorld({ resource: { authorization_servers: [`https://${host}`] } });
    const proxy = await startProxy();
    const patch = `import dns from 'node:dns';
      import { syncBuiltinESMExports } from 'node:module';
      dns.promises.lookup = async () => [{ address: '127.0.0.1', family: 4 }];
      dns.lookup = (_name, options, done) =>
        options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4);
      syncBuiltinESMExports();`;
    const login = (environment: Readonly<Record<string, string>>) =>
      computer.runProcess(['login', world.serverUrl], {
        environment: {
          NODE_TLS_REJECT_UNAUTHORIZED: '0',
          NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(patch)}`,
          ...environment,
        },
      });
    for (const direct of [
      { HTTPS_PROXY: proxy.url, NO_PROXY: '*' },
      { HTTPS_PROXY: proxy.url, NO_PROXY: 'example.com, .example.com' },
      { HTTP_PROXY: proxy.url },
    ]) {
      const { code, errors } = await login(direct);
      expect([code, errors]).toEqual([5, expect.stringContaining('resolves to a private network')]);
    }
    expect([asked, proxy.carried]).toEqual([[], []]);
    // A proxy resolves names itself.
    await login({ HTTPS_PROXY: proxy.url, NO_PROXY: 'elsewhere.example' });
    expect(asked).toContain('/.well-known/oauth-authorization-server');
    expect(new Set(proxy.carried)).toEqual(new Set([host]));
  });
});

describe('a certificate of an unknown authority', () => {
  it('login refuses an unknown certificate authority, and accepts it with NODE_EXTRA_CA_CERTS', async () => {
    const asked: string[] = [];
    const url = `https://localhost:${await listenSecurely(asked)}/mcp`;
    const refused = await computer.runProcess(['login', url]);
    expect([refused.code, asked]).toEqual([4, []]);
    expect(refused.errors).toContain('NODE_EXTRA_CA_CERTS');
    const environment = { NODE_EXTRA_CA_CERTS: fixture('localhost.pem') };
    await computer.runProcess(['login', url], { environment });
    // Through the fetch for the server, and through the one with the SSRF guard.
    expect(asked).toContain('/mcp');
    expect(asked).toContain('/.well-known/oauth-protected-resource/mcp');
    expect(asked).toContain('/register');
  });
});

it('the help of connect does not offer to read a pasted URL', async () => {
  const { output } = await computer.run(['connect', '--help']);
  expect(output).toContain('--no-browser');
  expect(output).not.toContain('read the URL that the browser was redirected to');
  expect((await computer.run(['login', '--help'])).output).toContain('that the browser was redirected to');
});

it('T149 tools says why it starts a sign-in', async () => {
  const world = await createWorld();
  const { errors } = await computer.run(['tools', world.serverUrl]);
  expect(errors).toContain(`Signing in at ${world.issuer}, because there is no session yet.`);
  expect(errors).not.toContain('--new-registration');
  const again = await computer.run(['login', world.serverUrl]);
  expect(again.errors).toContain(`npm run -s portcullis -- login ${world.serverUrl} --new-registration`);
  world.tokens.clear();
  world.refreshTokens.clear();
  const ended = (await computer.run(['tools', world.serverUrl])).errors;
  expect(ended).toContain(`The session at ${world.issuer} has ended: `);
  expect(ended).toContain(`Signing in at ${world.issuer}, because the session has ended.`);
  expect(ended).not.toContain('no session yet');
  const before = world.as.asked('/register').length;
  expect((await computer.run(['login', world.serverUrl, '--new-registration'])).code).toBe(0);
  expect(world.as.asked('/register')).toHaveLength(before + 1);
});

it('saves the tokens of a refresh that is under way when a command ends', async () => {
  const world = await createWorld();
  expect((await computer.run(['login', world.serverUrl])).code).toBe(0);
  world.tokens.clear();
  const requested = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  const refreshed = grant(world, {}, '');
  world.as.on('POST /token', async () => {
    requested.resolve();
    await ending.promise;
    return refreshed;
  });
  const { processContext } = createContext(computer);
  await withClient(
    world.serverUrl,
    { account: 'default', browser: false },
    processContext,
    async ({ client }) => {
      void client.fetch(world.serverUrl).catch(() => undefined);
      await requested.promise;
      setImmediate(ending.resolve);
    },
  );
  const store = await openCredentialStore(computer.credentials);
  const [record] = await store.all();
  store.close();
  expect(record?.tokens?.refreshToken).toBe((refreshed.body as { refresh_token: string }).refresh_token);
});

it('names the origin of the authorization endpoint where a server without resource metadata has it elsewhere', async () => {
  const world = await createWorld({ resourceMetadata: false });
  const endpoint = (path: string) => `${world.as.origin}${path}`;
  world.server.on('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: world.issuer,
      authorization_endpoint: endpoint('/authorize'),
      token_endpoint: endpoint('/token'),
      registration_endpoint: endpoint('/register'),
    },
  });
  const { errors } = await computer.run(['tools', world.serverUrl]);
  expect(errors).toContain(`Signing in at ${world.as.origin}, because there is no session yet.`);
  expect(errors).not.toContain(`Signing in at ${world.server.origin}`);
  const requested = await computer.run(['login', world.serverUrl]);
  expect(requested.errors).toContain(`Signing in at ${world.as.origin}.\n`);
});

it('[X-NEG-1] call --application declares its extension in the capabilities of every request, and other commands do not', async () => {
  const world = await createWorld();
  const capabilities: unknown[] = [];
  world.server.on('/mcp', ({ headers, body }) => {
    if (!world.tokens.has(headers.get('authorization')?.slice(7) ?? '')) return { status: 401 };
    const { id, method, params } = JSON.parse(body);
    capabilities.push(params._meta['io.modelcontextprotocol/clientCapabilities']);
    const more = method === 'tools/list' ? { tools: [] } : { content: [{ type: 'text', text: 'x' }] };
    const result = mcpResult(method, more);
    return { body: { jsonrpc: '2.0', id, result } };
  });
  const environment = { PORTCULLIS_CLIENT_SECRET: 'secret' };
  const words = [
    'call',
    world.serverUrl,
    'any',
    '--application',
    '--client-id',
    'robot',
    '--account',
    'robot',
  ];
  expect((await computer.run(words, { environment })).code).toBe(0);
  const extensions = { 'io.modelcontextprotocol/oauth-client-credentials': {} };
  expect(capabilities.splice(0)).toEqual([{ extensions }, { extensions }]);
  expect((await computer.run(['tools', world.serverUrl])).code).toBe(0);
  expect(capabilities).toEqual([{}, {}]);
});

it('call sends numbers as they are written', async () => {
  const world = await createWorld();
  const bodies: string[] = [];
  world.server.on('/mcp', ({ headers, body }) => {
    if (!world.tokens.has(headers.get('authorization')?.slice(7) ?? '')) return { status: 401 };
    bodies.push(body);
    const { id, method } = JSON.parse(body);
    const result = mcpResult(method, { content: [{ type: 'text', text: 'x' }] });
    return { body: { jsonrpc: '2.0', id, result } };
  });
  const words = ['call', world.serverUrl, 'delete', 'id:=9007199254740993', 'list:=[1e400]', '--input', '-'];
  const { code } = await computer.run(words, { input: '{"price": 1.10}' });
  expect(code).toBe(0);
  expect(bodies.at(-1)).toContain('"arguments":{"price":1.10,"id":9007199254740993,"list":[1e400]}');
});
