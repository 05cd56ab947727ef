/** Stdio servers as a user of their own, and in namespaces; where this system offers it. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { describeIsolation, detectIsolation, findMissingIsolation } from '../src/backends/stdio/isolation.ts';
import { startSession } from './support/client.ts';
import { defineTestServers, startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const OTHER = { uid: 65_534, gid: 65_534 };
const offered = detectIsolation();
/** The program of the test may be in a folder of this user alone. */
const hasUser = offered.user && spawnSync(process.execPath, ['-v'], { ...OTHER, cwd: '/' }).status === 0;

let gateway: TestGateway | undefined;
afterEach(() => gateway?.close());

async function start(backend: object) {
  gateway = await startGateway([{ path: '/mcp', backend: { command: [...TINY], folder: '/', ...backend } }]);
  return { gateway, ...(await startSession(gateway, 'alice')) };
}

/** Processes of this system with a variable in their environment. */
function countWith(variable: string): number {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/environ`, 'latin1').includes(variable);
    } catch {
      return false;
    }
  }).length;
}

describe('a stdio server', () => {
  it('runs as this user, which its log says together with what this system offers', async () => {
    const { gateway: to, call } = await start({});
    const own = [process.getuid?.(), process.getgid?.()];
    expect(JSON.parse(await call('user')).slice(0, 2)).toEqual(own);
    expect(to.events[0]).toEqual({ type: 'process.output', server: 'mcp', line: describeIsolation(offered) });
  });

  it.skipIf(!hasUser)(
    'runs as a user and group of its own, without further groups (needs root)',
    async () => {
      const { call } = await start({ identity: OTHER });
      const [uid, gid, groups] = JSON.parse(await call('user'));
      expect({ uid, gid }).toEqual(OTHER);
      expect(groups.filter((group: number) => group !== OTHER.gid)).toEqual([]);
    },
  );

  it.skipIf(!offered.namespace)(
    'sees no other process in its namespace, and ends with it (needs unshare)',
    async () => {
      const marker = `MARKER_${process.pid}`;
      const { gateway: to, call } = await start({ isolation: 'namespace', environment: { [marker]: '1' } });
      expect(await call('pid')).toBe('1');
      expect(await call('processes')).toBe('1');
      expect(await call('echo', { text: 'here' })).toBe('here');
      expect(countWith(marker)).toBeGreaterThan(0);
      await to.close();
      gateway = undefined;
      await expect.poll(() => countWith(marker)).toBe(0);
    },
  );

  it.skipIf(!offered.namespace)('in a namespace is still ended above its limit of memory', async () => {
    const { gateway: to, call } = await start({ isolation: 'namespace', memory: 256 });
    await call('memory');
    await expect.poll(() => JSON.stringify(to.events)).toContain('used more memory');
    expect(await call('echo', { text: 'back' })).toBe('back');
  });

  it.skipIf(!(hasUser && offered.namespace))('may have both (needs root and unshare)', async () => {
    const { call } = await start({ isolation: 'namespace', identity: OTHER });
    expect(await call('processes')).toBe('1');
    expect(JSON.parse(await call('user')).slice(0, 2)).toEqual([OTHER.uid, OTHER.gid]);
  });
});

describe('isolation that is configured', () => {
  const servers = defineTestServers(
    [
      { path: '/a', backend: { command: [...TINY], identity: OTHER } },
      { path: '/b', backend: { command: [...TINY], isolation: 'namespace' } },
      { path: '/c', backend: { command: [...TINY], isolation: 'none' } },
      { path: '/d', backend: { url: 'http://127.0.0.1:1/mcp' } },
    ],
    'http://127.0.0.1',
  );

  it('and not offered says which server it is missing for', () => {
    expect(findMissingIsolation(servers, () => ({ user: false, namespace: false }))).toEqual([
      'backend.identity of /a needs a server that runs as root',
      expect.stringMatching(/^backend\.isolation of \/b needs Linux/),
    ]);
    expect(findMissingIsolation(servers, () => ({ user: true, namespace: true }))).toEqual([]);
  });

  it.each([
    ['isolation', { isolation: 'namespace' as const }],
    ['identity', { identity: OTHER }],
  ])('belongs to a command: %s', (name, backend) => {
    const written = [{ path: '/d', backend: { url: 'http://127.0.0.1:1/mcp', ...backend } }];
    expect(() => defineTestServers(written, 'http://127.0.0.1')).toThrow(`"${name}"`);
  });

  it('never is root', () => {
    const written = [{ path: '/a', backend: { command: [...TINY], identity: { uid: 0, gid: 1 } } }];
    expect(() => defineTestServers(written, 'http://127.0.0.1')).toThrow('uid');
  });
});
