/** The Node that each package needs, and what the command says on an older one. */
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { openStore } from '@portcullis/store';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bundleFlags } from '../../../tests/support/source-flags.ts';
import { main } from './support/command.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs the command on this Node, which reports another version. */
function runAs(version: string) {
  const pretend = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const args = [...bundleFlags(), '--import', pretend, main, '--version'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

it('the command of a clone that is not built says how to run it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-clone-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const file of ['bin.js', 'package.json']) cpSync(join(root, 'packages/cli', file), join(folder, file));
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'bin.js'), 'up'], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    1,
    'portcullis: this clone is not built: run npm run -s portcullis -- with the same arguments\n',
  ]);
});

describe('an older Node', () => {
  it.each(['18.20.8', '20.20.2', '22.23.3', '24.6.1'])(
    'the command names the version that it needs on an older Node: %s',
    (version) => {
      expect(runAs(version)).toEqual({
        status: 1,
        stdout: '',
        stderr: `portcullis: needs Node 24.7 or later, and this is Node ${version}: install it from https://nodejs.org, or put npx -p node@24 before the command\n`,
      });
    },
  );

  it.each(['24.7.0', '24.21.0', '26.0.0'])('the command runs on %s', (version) => {
    expect(runAs(version)).toMatchObject({ status: 0, stderr: '' });
  });

  it('the authorization server names the version that it needs on an older Node, before the first password', async () => {
    const store = await openStore(':memory:');
    onTestFinished(() => store.close());
    const resources = [{ resource: 'http://localhost:8484/mcp', name: 'Notes', scopes: { read: 'Read' } }];
    const options = { issuer: 'http://localhost:8484', store, masterKey: new Uint8Array(32), resources };
    const { argon2 } = crypto;
    Object.assign(crypto, { argon2: undefined });
    await expect(createAuthorizationServer(options)).rejects.toThrow('passwords need Node 24.7 or later');
    Object.assign(crypto, { argon2 });
    await (await createAuthorizationServer(options)).close();
  });

  it('the start of the command imports nothing by name that an older Node lacks', () => {
    const imports = readFileSync(main, 'utf8').matchAll(/^import .*$/gm);
    expect(Array.from(imports, ([line]) => line)).toEqual([
      "import { existsSync, readFileSync } from 'node:fs';",
      "import { fileURLToPath } from 'node:url';",
    ]);
  });
});

describe('engines', () => {
  const manifests = globSync('packages/*/package.json', { cwd: root }).map((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return JSON.parse(text) as {
      readonly name: string;
      readonly engines: { readonly node: string };
      readonly dependencies?: Readonly<Record<string, string>>;
    };
  });
  const engineOf = (name: string) => manifests.find((one) => one.name === name)?.engines.node ?? '';

  it('guard and client run on Node 22; only what hashes passwords, or depends on it, needs Node 24.7', () => {
    expect(
      Object.fromEntries(manifests.map(({ name, engines }) => [name.split('/')[1], engines.node])),
    ).toMatchObject({
      protocol: '>=22.13.0',
      http: '>=22.13.0',
      'resource-server': '>=22.13.0',
      client: '>=22.13.0',
      'authorization-server': '>=24.7.0',
      store: '>=24.7.0',
      cli: '>=24.7.0',
    });
  });

  it('no package runs on an older Node than a package that it depends on', () => {
    const major = (range: string) => Number(/\d+/.exec(range)?.[0]);
    for (const { name, engines, dependencies = {} } of manifests) {
      for (const needed of Object.keys(dependencies).filter((one) => one.startsWith('@portcullis/')))
        expect([name, needed, major(engineOf(needed)) <= major(engines.node)]).toEqual([name, needed, true]);
    }
  });

  it('`npm start` needs no development dependency', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>>;
    };
    for (const name of [
      'node',
      'commander',
      'zod',
      'hono',
      '@hono/node-server',
      '@modelcontextprotocol/client',
      'pg',
    ]) {
      const { dev, devOptional } = lock.packages[`packages/cli/node_modules/${name}`] ??
        lock.packages[`node_modules/${name}`] ?? { dev: true };
      expect([name, dev, devOptional]).toEqual([name, undefined, undefined]);
    }
  });
});
