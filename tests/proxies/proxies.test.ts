/** Every configuration of docs/guides/reverse-proxy.md, run by the proxy it is for, in front of Portcullis. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBackend, type TestBackend } from '../../packages/gateway/test/support/backend.ts';
import { TINY } from '../../packages/gateway/test/support/stdio-server.ts';
import { machineClient, machineCredentials } from '../support/machine-client.ts';
import { type ProtectedProcess, startCommand } from '../support/protect.ts';
import {
  blockOf,
  HOST,
  proxies,
  type RunningProxy,
  SHORT_TIMEOUT,
  startProxy,
  TIMEOUT,
  versionOf,
} from './proxies.ts';

const installed = await Promise.all(
  proxies.map(async (proxy) => ({ ...proxy, found: await versionOf(proxy) })),
);
const present = installed.filter(({ found }) => found !== null);

/** A client elsewhere: `trustedProxies` has the address from which the proxy connects, 127.0.0.1. */
const CLIENT = '127.0.0.2';
const MCP = `https://${HOST}/mcp`;
const FILES = `https://${HOST}/tools/files`;
/** Seconds of a silent call: longer than the timeout of the proxy, and than from the first comment of the gateway to it. */
const SILENT = SHORT_TIMEOUT + 4;

let folder: string;
let backend: TestBackend;
let portcullis: ProtectedProcess;
/** Ends the streams that the backend has begun. */
let releaseStreams: () => void = () => {};

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'test', version: '1' },
  },
  'tools/list': { tools: [] },
};

/** An MCP server that begins streams and ends them on demand, is silent on demand, and says how long a request was. */
async function startStreamingBackend(): Promise<TestBackend> {
  const begun = new Set<() => void>();
  releaseStreams = () => {
    for (const end of begun) end();
    begun.clear();
  };
  return startBackend(({ method, body }, response) => {
    const { id, method: called, params } = JSON.parse(body || '{}');
    const name = method === 'GET' ? 'stream' : params?.name;
    const result = RESULTS[called] ?? { content: [{ type: 'text', text: String(body.length) }] };
    const message = JSON.stringify({ jsonrpc: '2.0', id, result });
    if (name === 'silent') return;
    if (method === 'POST' && id === undefined) return void response.writeHead(202).end();
    if (name !== 'stream')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(message);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(
      'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"first"}}\n\n',
    );
    begun.add(() => response.end(method === 'GET' ? undefined : `data: ${message}\n\n`));
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-proxies-'));
  backend = await startStreamingBackend();
  const { servers, ...settings } = JSON.parse(blockOf('json'));
  const scope = 'mcp:read mcp:write files:read files:write';
  const configuration = {
    ...settings,
    strippedPrefix: '/tools',
    servers: [
      { ...servers[0], review: 'auto', backend: { url: backend.url } },
      { path: '/tools/files', name: 'Files', review: 'auto', backend: { command: TINY } },
    ],
    clients: [{ ...machineClient, scope }],
    rateLimits: false,
  };
  const file = join(folder, 'portcullis.json');
  writeFileSync(file, JSON.stringify(configuration));
  portcullis = await startCommand(['up', '--verbose', '--processes', '2', '--config', file], {
    PORTCULLIS_DATABASE: join(folder, 'portcullis.db'),
  });
});

afterAll(async () => {
  releaseStreams();
  expect(await portcullis.stop()).toBe(0);
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly agent?: Agent;
  /** Sees each piece of the body. */
  readonly onText?: (text: string) => void;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** Sends a request to the host of the page through a proxy. */
function send(
  { port }: RunningProxy,
  path: string,
  { headers, body, agent, onText }: Sent = {},
): Promise<Answer> {
  const options = {
    host: '127.0.0.1',
    port,
    path,
    servername: HOST,
    rejectUnauthorized: false,
    localAddress: CLIENT,
    agent: agent ?? false,
    method: body === undefined ? 'GET' : 'POST',
    headers: { host: HOST, ...headers },
  } as const;
  return new Promise((resolve, reject) => {
    const outgoing = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        onText?.(text);
      });
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    outgoing.once('error', reject).end(body);
  });
}

async function requestToken(proxy: RunningProxy, resource: string): Promise<string> {
  const form = { ...machineCredentials, grant_type: 'client_credentials', resource };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { text } = await send(proxy, '/token', { headers, body: String(new URLSearchParams(form)) });
  return JSON.parse(text).access_token;
}

/** Calls tools of a server with one token. */
async function connect(proxy: RunningProxy, resource: string) {
  const authorization = `Bearer ${await requestToken(proxy, resource)}`;
  const { pathname } = new URL(resource);
  const session: Record<string, string> = {};
  const post = (method: string, params: object, more: Sent = {}) =>
    send(proxy, pathname, {
      ...more,
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...session,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const clientInfo = { name: 'test', version: '1' };
  const started = await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  const id = started.headers['mcp-session-id'];
  if (typeof id === 'string') session['mcp-session-id'] = id;
  return {
    call: (name: string, input: object = {}, more: Sent = {}) =>
      post('tools/call', { name, arguments: input }, more),
    listen: (more: Sent) =>
      send(proxy, pathname, { ...more, headers: { authorization, accept: 'text/event-stream', ...session } }),
  };
}

/** The response to a request for a document over HTTP/2. */
function fetchOverHttp2({ port }: RunningProxy, path: string): Promise<string> {
  const options = {
    host: '127.0.0.1',
    port,
    servername: HOST,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  };
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => connectTls(options) });
  return new Promise<string>((resolve, reject) => {
    let text = '';
    session.once('error', reject);
    const stream = session.request({ ':path': path });
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    stream.once('error', reject).once('end', () => resolve(text));
  }).finally(() => session.close());
}

const portOf = ({ output }: ProtectedProcess) => Number(/, port (\d+)/.exec(output())?.[1]);

it.each(proxies)('the configuration of $name has no timeout below that of a backend', ({ block }) => {
  const seconds = [...blockOf(block).matchAll(/timeout(?: connect| client| server)?[ =](\d+)s?\b/g)].map(
    ([text, value]) => [text, Number(value)],
  );
  const short = seconds.filter(([, value]) => Number(value) < 300).map(([text]) => text);
  // Of connections without a request, and until one is made or its headers are read.
  for (const text of short) expect(text).toMatch(/^timeout (?:60s|connect \ds)/);
});

describe.each(installed)('behind $name $found (skipped where it is not installed)', (proxy) => {
  const isMissing = proxy.found === null;
  let running: RunningProxy;

  beforeAll(async () => {
    if (!isMissing) running = await startProxy(proxy, portOf(portcullis), false);
  });
  afterAll(() => running?.stop());

  it.skipIf(isMissing)('documents, challenges and redirects pass as they are, also over HTTP/2', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const metadata = await send(running, path);
    expect(JSON.parse(metadata.text)).toMatchObject({ issuer: `https://${HOST}` });
    expect(JSON.parse(await fetchOverHttp2(running, path)).issuer).toBe(`https://${HOST}`);
    const refused = await send(running, '/mcp', { body: '{}', headers: { origin: 'https://app.example' } });
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain(
      `https://${HOST}/.well-known/oauth-protected-resource/mcp`,
    );
    expect(refused.headers['access-control-expose-headers']).toContain('WWW-Authenticate');
    const page = await send(running, '/connections');
    expect([page.status, page.headers['location']]).toEqual([
      303,
      expect.stringMatching(/^\/|^https:\/\/auth\.example\.com\//),
    ]);
  });

  it.skipIf(isMissing)('the address of a client is its own, whatever it says itself', async () => {
    const forged = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7;proto=http' };
    const page = await send(running, '/authorize?client_id=unknown&response_type=code', { headers: forged });
    const [reference = 'none'] = /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(page.text) ?? [];
    const line = () =>
      portcullis
        .output()
        .split('\n')
        .find((text) => text.includes(reference)) ?? '';
    await expect.poll(line).toContain(`network=${CLIENT}`);
  });

  it.skipIf(isMissing)('bodies above a megabyte pass', async () => {
    const { call } = await connect(running, MCP);
    const answer = await call('length', { text: 'x'.repeat(4_000_000) });
    expect(answer.status).toBe(200);
    expect(Number(JSON.parse(answer.text).result.content[0].text)).toBeGreaterThan(4_000_000);
  });

  it.skipIf(isMissing).each(['call', 'listen'] as const)(
    'the events of a stream that %s begins arrive one by one',
    async (how) => {
      const client = await connect(running, MCP);
      const first = Promise.withResolvers<void>();
      const onText = (text: string) => {
        if (text.includes('"first"')) first.resolve();
      };
      const whole = how === 'call' ? client.call('stream', {}, { onText }) : client.listen({ onText });
      // Or its response, if the stream did not begin.
      const early = await Promise.race([first.promise, whole]);
      expect(early).toBe(undefined);
      releaseStreams();
      expect((await whole).status).toBe(200);
    },
  );

  it.skipIf(isMissing)(
    'a prefix that the proxy removes is the one of strippedPrefix, and one that it leaves needs nothing',
    async () => {
      expect((await send(running, '/tools/healthz')).status).toBe(404);
      expect((await (await connect(running, FILES)).call('echo', { text: 'kept' })).text).toContain('kept');
      const stripping = await startProxy(proxy, portOf(portcullis), true);
      try {
        expect((await send(stripping, '/tools/healthz')).status).toBe(200);
        expect((await (await connect(stripping, FILES)).call('echo', { text: 'removed' })).text).toContain(
          'removed',
        );
      } finally {
        await stripping.stop();
      }
    },
  );
});

/** What happens behind each proxy that is installed, all at the same time. */
async function behindEach<T>(
  act: (running: RunningProxy, proxy: (typeof present)[number]) => Promise<T>,
): Promise<Readonly<Record<string, T>>> {
  const outcomes = present.map(async (proxy) => {
    const running = await startProxy(proxy, portOf(portcullis), false);
    try {
      return [proxy.name, await act(running, proxy)] as const;
    } finally {
      await running.stop();
    }
  });
  return Object.fromEntries(await Promise.all(outcomes));
}
const forEach = <T>(of: (proxy: (typeof present)[number]) => T) =>
  Object.fromEntries(present.map((proxy) => [proxy.name, of(proxy)]));

/** Calls behind each proxy while processes are replaced, which takes half a second on an idle machine. */
const MIN_CALLS = 20;

describe.skipIf(present.length === 0)('behind all proxies', () => {
  it('a silent call of a process outlasts the timeout of each, and one of an HTTP server is what the timeout is for', async () => {
    expect(TIMEOUT).toBeGreaterThan(300);
    const outcomes = await behindEach(async (running, { timeoutStatus }) => {
      const process = await connect(running, FILES);
      const server = await connect(running, MCP);
      const [waited, silent] = await Promise.all([
        process.call('wait', { seconds: SILENT }),
        timeoutStatus && server.call('silent').then(({ status }) => status),
      ]);
      return [waited.status, waited.text.includes('"waited"'), silent];
    });
    expect(outcomes).toEqual(forEach(({ timeoutStatus }) => [200, true, timeoutStatus]));
  });

  it('no request is lost while Portcullis replaces its processes', async () => {
    let isOver = false;
    const load = behindEach(async (running) => {
      const agent = new Agent({ keepAlive: true });
      const { call } = await connect(running, MCP);
      const statuses = new Map<number | string, number>();
      const count = () => statuses.values().reduce((sum, one) => sum + one, 0);
      const loop = async (pause: number) => {
        while (!isOver || count() <= MIN_CALLS) {
          const outcome = await call('length', {}, { agent }).then(({ status }) => status, String);
          statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
          // The connections are idle meanwhile.
          await new Promise((resolve) => setTimeout(resolve, pause));
        }
      };
      await Promise.all([20, 100, 500].map(loop));
      agent.destroy();
      return [...statuses.keys()];
    });
    portcullis.child.kill('SIGHUP');
    await expect.poll(portcullis.output).toContain('processes.restarted count=2');
    isOver = true;
    expect(await load).toEqual(forEach(() => [200]));
  });
});
