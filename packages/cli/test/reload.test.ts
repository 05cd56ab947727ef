/** The configuration file is read again on SIGHUP and when it has changed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProtectedProcess, startCommand } from '../../../tests/support/protect.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-reload-'));
const file = join(folder, 'portcullis.json');
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

describe('a changed configuration file', () => {
  it('adds and removes servers without a restart', async () => {
    expect(await Promise.all(['/one', '/two', '/three'].map(statusOf))).toEqual([401, 401, 404]);
    write('/one', '/three');
    running.child.kill('SIGHUP');
    await expect.poll(() => statusOf('/three')).toBe(401);
    expect(await Promise.all(['/one', '/two'].map(statusOf))).toEqual([401, 404]);
    const metadata = await fetch(`${running.url}/.well-known/oauth-protected-resource/three`);
    expect(await metadata.json()).toMatchObject({ scopes_supported: ['three:read', 'three:write'] });
    expect(running.output()).toContain('configuration.reloaded servers=2');
  });

  it('with issues changes nothing and says why', async () => {
    writeFileSync(file, JSON.stringify({ servers: [serverAt('/one'), { path: '/four' }] }));
    await expect.poll(() => running.output()).toContain('servers.1 (in ');
    expect(running.output()).toMatch(/servers\.1 \(in .*\) must have either backend or merges/);
    expect(running.output()).toContain('configuration.refused');
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
