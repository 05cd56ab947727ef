/** `portcullis doctor` walks through the gateway to the backend, and says whose failure it is. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryStore } from '@portcullis/client';
import { afterEach, expect, it } from 'vitest';
import { examine } from '../../../packages/cli/src/doctor/examine.ts';
import type { Report } from '../../../packages/cli/src/doctor/report.ts';
import { createTestBrowser } from '../../../packages/gateway/test/support/browser.ts';
import { startEverythingServer } from '../../conformance/server/everything-server.ts';
import { owner } from '../../support/portcullis.ts';
import { startGatewayHere } from '../../support/portcullis-here.ts';
import { createUser } from '../../support/user.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A backend that answers everything with a status. @param status `null`: it is down */
async function startBackend(status: number | null): Promise<string> {
  if (status === null) return 'http://127.0.0.1:1/mcp';
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A server of MCP with a tool. */
async function startMcpBackend(): Promise<string> {
  const server = await startEverythingServer('both');
  closing.push(() => server.stop());
  return server.url;
}

/** A user who allows access at the gateway, and declines it at the backend. */
async function declineAtBackend(url: string): Promise<void> {
  const browser = createTestBrowser(() => ({}));
  let page = await browser.open(url);
  for (let step = 0; step < 8 && page.html.includes('<form'); step += 1) {
    const isOurs = page.url.origin === new URL(url).origin;
    const fields = page.url.pathname === '/login' ? { ...owner } : { decision: isOurs ? 'allow' : 'deny' };
    page = await browser.submit(page, fields);
  }
}

async function examineAt(
  serverUrl: string,
  signIn: boolean,
  open: (url: string) => Promise<unknown> = async (url) => fetch(await createUser(owner).authorize(url)),
): Promise<Report> {
  const browser = { open: async (url: string) => void open(url) };
  return examine({ client: { serverUrl, store: createMemoryStore(), browser }, signIn, version: '1' });
}

async function startGateway(servers: readonly object[], requiresBackends = false): Promise<string> {
  const gateway = await startGatewayHere(servers, requiresBackends);
  closing.push(() => gateway.stop());
  return `${gateway.url}/mcp`;
}

/** As `portcullis protect` does. */
const startProtected = (backend: string) =>
  startGateway([{ path: '/mcp', name: new URL(backend).host, backend: { url: backend } }], true);

const atCall = ({ findings }: Report) => findings.filter(({ step }) => step === 'call');

it.each([
  ['a backend that is down', null, 'backend', true],
  ["a backend that rejects the gateway's credential", 401, 'gateway', false],
  ['a backend that redirects', 302, 'gateway', false],
] as const)('names who is responsible for %s', async (_name, status, owner, temporary) => {
  const report = await examineAt(await startProtected(await startBackend(status)), true);
  expect(atCall(report)).toMatchObject([{ owner, temporary, severity: 'error' }]);
});

it('says without a sign-in that the backend is down once the gateway knows, and that it is up', async () => {
  const server = await startProtected(await startBackend(null));
  await examineAt(server, true);
  const down = await examineAt(server, false);
  expect(atCall(down)).toMatchObject([{ owner: 'backend', severity: 'error', temporary: true }]);
  expect(down.steps.at(-1)).toMatchObject({ name: 'call', state: 'failed' });
  const up = await examineAt(await startProtected(await startMcpBackend()), false);
  expect(up.findings).toEqual([]);
  expect(up.steps.at(-1)).toMatchObject({
    name: 'call',
    state: 'skipped',
    summary: expect.stringContaining('the gateway'),
  });
});

it('finds nothing wrong with a gateway and its backend that work', async () => {
  const report = await examineAt(await startProtected(await startMcpBackend()), true);
  expect(atCall(report)).toEqual([]);
  expect(report.steps.at(-1)).toMatchObject({ name: 'call', state: 'ok' });
});

it.each([
  ['forbids the list of tools', { methods: { 'tools/list': false } }],
  ['hides every tool', { tools: { '*': false } }],
])('blames the gateway for a rule that %s', async (_name, rules) => {
  const backend = { url: await startMcpBackend() };
  const server = await startGateway([{ path: '/mcp', name: 'Everything', backend, ...rules }]);
  expect(atCall(await examineAt(server, true))).toMatchObject([{ owner: 'gateway' }]);
});

it('tells the user to connect an account that the backend wants', async () => {
  const backend = await startProtected(await startMcpBackend());
  const server = await startGateway([
    { path: '/mcp', name: 'Hub', backend: { url: backend, credentials: { as: 'user' } } },
  ]);
  const findings = atCall(await examineAt(server, true, declineAtBackend));
  expect(findings).toMatchObject([{ owner: 'you', severity: 'error' }]);
  expect(findings[0]?.message).toContain('/connect?link=');
});

it('names the authorization server that does not answer', async () => {
  const guard = createServer((request, response) => {
    const { origin } = new URL(`http://${request.headers.host}`);
    const isMetadata = request.url?.startsWith('/.well-known/oauth-protected-resource') === true;
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    response.writeHead(isMetadata ? 200 : 401, {
      'content-type': 'application/json',
      ...(!isMetadata && { 'www-authenticate': challenge }),
    });
    const metadata = { resource: `${origin}/mcp`, authorization_servers: ['http://127.0.0.1:1'] };
    response.end(JSON.stringify(isMetadata ? metadata : {}));
  });
  await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve));
  closing.push(() => guard.close());
  const { findings } = await examineAt(
    `http://127.0.0.1:${(guard.address() as AddressInfo).port}/mcp`,
    false,
  );
  expect(findings.filter(({ severity }) => severity === 'error')).toMatchObject([
    { step: 'authorization server' },
  ]);
});
