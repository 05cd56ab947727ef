/** The configuration file is read again on SIGHUP and when it has changed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@portcullis/store';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ProtectedProcess, startCommand } from '../../../tests/support/protect.ts';
import { type Prepared, prepare } from '../src/server/prepare.ts';
import { watchConfiguration } from '../src/server/reload.ts';
import type { Running } from '../src/server/start.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-reload-'));
const file = join(folder, 'portcullis.json');
const SECRET = 'a secret of at least 22 characters';
let running: ProtectedProcess;

const serverAt = (path: string) => ({ path, backend: { url: 'http://127.0.0.1:9/mcp' } });
const write = (...paths: readonly string[]) =>
  writeFileSync(file, JSON.stringify({ servers: paths.map(serverAt) }));
const statusOf = async (path: string) =>
  (await fetch(`${running.url}${path}`, { method: 'POST', redirect: 'manual' })).status;

beforeAll(async () => {
  write('/one', '/two');
  running = await startCommand(['up'], { PORTCULLIS_CONFIG: file });
});

afterAll(async () => {
  expect(await running.stop()).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});

/** A backend that answers every request, and the API keys that it received. */
async function startBackend(): Promise<{ readonly url: string; readonly keys: unknown[] }> {
  const keys: unknown[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    keys.push(request.headers['x-api-key']);
    const { id } = JSON.parse(body || '{}');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, keys };
}

describe('the credentials of a server', () => {
  it('are those of its file at the next signal', async () => {
    const own = mkdtempSync(join(tmpdir(), 'portcullis-credentials-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    const backend = await startBackend();
    const other = await startBackend();
    const config = join(own, 'portcullis.json');
    const secret = join(own, 'secret');
    writeFileSync(secret, 'first');
    const credentials = { as: 'header', name: 'x-api-key', value: { file: secret } };
    const both = { 'all:use': 'Use it' };
    const servers = [
      { path: '/keyed', backend: { url: backend.url, credentials }, scopes: both, review: 'auto' },
      { path: '/other', backend: { url: other.url }, scopes: both, review: 'auto' },
    ];
    const client = {
      client_id: 'job',
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      scope: 'all:use',
    };
    writeFileSync(config, JSON.stringify({ clients: [client], servers }));
    const up = await startCommand(['up'], { PORTCULLIS_CONFIG: config });
    onTestFinished(async () => void (await up.stop()));
    const ping = async (path: string) => {
      const token = await fetch(`${up.url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`job:${SECRET}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: `${up.url}${path}` }),
      });
      const { access_token: accessToken } = (await token.json()) as { readonly access_token: string };
      const response = await fetch(`${up.url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${accessToken}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      });
      return response.status;
    };
    expect([await ping('/keyed'), await ping('/other'), backend.keys]).toEqual([200, 200, ['first']]);
    writeFileSync(secret, 'second');
    up.child.kill('SIGHUP');
    await expect.poll(() => up.output()).toContain('configuration.reloaded');
    expect([await ping('/keyed'), await ping('/other'), backend.keys]).toEqual([
      200,
      200,
      ['first', 'second'],
    ]);
  });
});

describe('a client that is removed from the file', () => {
  it('gets no token any more, and its tokens end, at the next signal', async () => {
    const own = mkdtempSync(join(tmpdir(), 'portcullis-removed-client-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    const backend = await startBackend();
    const config = join(own, 'portcullis.json');
    const servers = [
      { path: '/one', backend: { url: backend.url }, scopes: { 'all:use': 'Use it' }, review: 'auto' },
    ];
    const clientOf = (id: string) => ({
      ...{ client_id: id, client_secret: SECRET, grant_types: ['client_credentials'], scope: 'all:use' },
    });
    const writeOwn = (...ids: readonly string[]) =>
      writeFileSync(config, JSON.stringify({ clients: ids.map(clientOf), servers }));
    writeOwn('stays', 'leaked');
    const up = await startCommand(['up'], { PORTCULLIS_CONFIG: config });
    onTestFinished(async () => void (await up.stop()));
    const tokenOf = async (id: string) => {
      const response = await fetch(`${up.url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${id}:${SECRET}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: `${up.url}/one` }),
      });
      const { access_token: token = '' } = (await response.json()) as { readonly access_token?: string };
      return { status: response.status, token };
    };
    const ping = async (token: string) => {
      const headers = {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
      return (await fetch(`${up.url}/one`, { method: 'POST', headers, body })).status;
    };
    const [stays, leaked] = [await tokenOf('stays'), await tokenOf('leaked')];
    expect([await ping(stays.token), await ping(leaked.token)]).toEqual([200, 200]);
    writeOwn('stays');
    up.child.kill('SIGHUP');
    await expect.poll(() => up.output()).toContain('configuration.reloaded');
    expect([await ping(stays.token), await ping(leaked.token)]).toEqual([200, 401]);
    expect([(await tokenOf('stays')).status, (await tokenOf('leaked')).status]).toEqual([200, 401]);
    expect(up.output()).not.toContain('takes effect at the next start');
  });
});

describe('with `admin`, the audit log', () => {
  it('has the start of the server and each reload, which the plots of the console mark', async () => {
    const own = mkdtempSync(join(tmpdir(), 'portcullis-lifecycle-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    const config = join(own, 'portcullis.json');
    const database = join(own, 'portcullis.db');
    const writeOwn = (...paths: readonly string[]) =>
      writeFileSync(config, JSON.stringify({ admin: {}, database, servers: paths.map(serverAt) }));
    writeOwn('/one');
    const environment = { PORTCULLIS_CONFIG: config, PORTCULLIS_DATABASE: database };
    const up = await startCommand(['up'], environment);
    onTestFinished(async () => void (await up.stop()));
    const store = await openStore(database);
    onTestFinished(() => store.close());
    const lifecycle = async () =>
      (await store.listLatestEvents(50))
        .filter(({ type }) => type === 'server.started' || type === 'configuration.reloaded')
        .map(({ type, details }) => [type, details]);
    const started = ['server.started', { version: expect.stringMatching(/^\d/) }];
    await expect.poll(lifecycle).toEqual([started]);
    writeOwn('/one', '/two');
    up.child.kill('SIGHUP');
    await expect.poll(lifecycle).toEqual([started, ['configuration.reloaded', { servers: 2 }]]);
  });
});

describe('a signal during the start', () => {
  it('is kept until the server runs, and ends no process', async () => {
    const own = mkdtempSync(join(tmpdir(), 'portcullis-early-signal-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    const config = join(own, 'portcullis.json');
    const writeOwn = (...paths: readonly string[]) =>
      writeFileSync(config, JSON.stringify({ servers: paths.map(serverAt) }));
    writeOwn('/one');
    const sources = { flags: {}, environment: { PORTCULLIS_CONFIG: config }, folder: own };
    const starting = Promise.withResolvers<Pick<Running, 'replaceServers' | 'log'>>();
    const complaints: string[] = [];
    const complain = (text: string) => void complaints.push(text);
    const stop = watchConfiguration(sources, await prepare(sources), starting.promise, { complain });
    onTestFinished(stop);
    writeOwn('/one', '/two');
    process.emit('SIGHUP');
    const replaced = Promise.withResolvers<readonly string[]>();
    const replaceServers = async ({ settings }: Prepared) =>
      replaced.resolve(settings.servers.map(({ path }) => path));
    starting.resolve({ replaceServers, log: () => {} });
    expect([await replaced.promise, complaints]).toEqual([['/one', '/two'], []]);
  });
});

describe('a changed configuration file', () => {
  it('adds and removes servers without a restart', async () => {
    expect(await Promise.all(['/one', '/two', '/three'].map(statusOf))).toEqual([401, 401, 404]);
    write('/one', '/three');
    running.child.kill('SIGHUP');
    await expect.poll(() => statusOf('/three')).toBe(401);
    expect(await Promise.all(['/one', '/two'].map(statusOf))).toEqual([401, 404]);
    const metadata = await fetch(`${running.url}/.well-known/oauth-protected-resource/three`);
    expect(await metadata.json()).toMatchObject({ scopes_supported: ['three:read', 'three:write'] });
    await expect.poll(running.output).toContain('configuration.reloaded servers=2');
  });

  it('with issues changes nothing and says why', async () => {
    writeFileSync(file, JSON.stringify({ servers: [serverAt('/one'), { path: '/four' }] }));
    await expect.poll(() => running.output()).toContain('servers.1 (in ');
    await expect.poll(running.output).toMatch(/servers\.1 \(in .*\) must have either backend or merges/);
    await expect.poll(running.output).toContain('configuration.refused');
    expect(await Promise.all(['/one', '/three', '/four'].map(statusOf))).toEqual([401, 401, 404]);
  });

  it('does not take a path of the authorization server', async () => {
    write('/one', '/login');
    await expect.poll(() => running.output()).toContain('servers.1.path is /login, which would hide /login');
    expect(await Promise.all(['/one', '/three'].map(statusOf))).toEqual([401, 401]);
  });

  it('is noticed without a signal', async () => {
    write('/five');
    await expect.poll(() => statusOf('/five')).toBe(401);
  });

  it('says which other settings need a restart', async () => {
    writeFileSync(file, JSON.stringify({ servers: [serverAt('/five')], name: 'Other' }));
    await expect.poll(() => running.output()).toContain('name: a change takes effect at the next start');
  });
});
