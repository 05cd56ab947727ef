/** The image, built on a Debian made here and run without privileges; and the README's commands in that Debian itself. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startRegistry } from '../installed/registry.ts';
import { reservePort } from '../support/ports.ts';
import {
  containers,
  copyWithClone,
  findMissingTools,
  importDebian,
  inDebian,
  prepareDebian,
} from './debian.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const missing = await findMissingTools();
if (missing !== undefined) console.warn(`skipped: ${missing}`);

/** Milliseconds for what downloads or copies a whole system. */
const LONG = 900_000;

let debian: string;
let base: string;
beforeAll(async () => {
  if (missing !== undefined) return;
  debian = await prepareDebian();
  // On disk, and with a short name, as podman demands.
  base = await mkdtemp('/var/tmp/portcullis-');
}, LONG);
afterAll(async () => {
  // Images hold mounts until the storage is removed as root.
  if (base !== undefined) await promisify(execFile)('rm', ['-rf', base]).catch(() => {});
}, LONG);

const statusOf = (url: string) =>
  fetch(url).then(
    (response) => response.status,
    () => 0,
  );

describe.skipIf(missing)('the image of deploy/Containerfile', () => {
  const IMAGE = 'localhost/portcullis';
  const podman = (...args: readonly string[]) => containers(join(base, 'storage'), 'podman', ...args);

  beforeAll(async () => {
    const storage = join(base, 'storage');
    await importDebian(storage, debian, 'localhost/node:24');
    const options = ['--format', 'docker', '--network', 'host', '--pull-never', '--tag', IMAGE];
    const files = ['--file', 'deploy/Containerfile', '--ignorefile', '.containerignore'];
    await containers(
      storage,
      'buildah',
      'build',
      ...options,
      '--build-arg',
      'NODE_IMAGE=localhost/node:24',
      ...files,
      root,
    );
  }, LONG);

  /** Starts it on the network of the host, as a container without any privilege. */
  async function start(name: string, port: number, ...args: readonly string[]): Promise<void> {
    onTestFinished(() => void podman('rm', '--force', name).catch(() => {}));
    const limits = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024', '--network', 'host'];
    const restrictions = [
      '--read-only',
      '--tmpfs',
      '/tmp',
      '--cap-drop',
      'all',
      '--security-opt',
      'no-new-privileges',
    ];
    const settings = {
      PORTCULLIS_PORT: String(port),
      PORTCULLIS_PUBLIC_URL: `http://localhost:${port}`,
      PORTCULLIS_TRUSTED_PROXIES: '127.0.0.1',
    };
    const variables = Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
    // Podman's own health checks need systemd.
    await podman(
      'run',
      '--detach',
      '--name',
      name,
      '--no-healthcheck',
      ...limits,
      ...restrictions,
      ...variables,
      IMAGE,
      ...args,
    );
  }

  it(
    'serves as a user that is not root, writes below /data only, is healthy, and stops on SIGTERM with 0',
    async () => {
      const port = await reservePort();
      await start('serving', port, 'protect', 'http://127.0.0.1:9/mcp');
      await expect.poll(() => statusOf(`http://localhost:${port}/readyz`)).toBe(200);
      expect(await statusOf(`http://localhost:${port}/mcp`)).toBe(401);
      const inside = (command: string) => podman('exec', 'serving', 'sh', '-c', command);
      expect(await inside('id -u; id -g')).toBe('1000\n1000');
      expect(await inside('for place in / /app /usr/bin; do touch $place/x 2>&1; done; true')).toMatch(
        /^(?:touch: .*Read-only file system\n?){3}$/,
      );
      expect(await inside('ls /data')).toBe(
        'portcullis.db\nportcullis.db-shm\nportcullis.db-wal\nportcullis.key',
      );
      const [health] = JSON.parse(
        await podman('inspect', IMAGE, '--format', '{{json .HealthCheck.Test}}'),
      ).slice(0, 1);
      expect(health).toBe('CMD');
      const test: readonly string[] = JSON.parse(
        await podman('inspect', IMAGE, '--format', '{{json .HealthCheck.Test}}'),
      );
      await podman('exec', 'serving', ...test.slice(1));
      await podman('stop', '--time', '15', 'serving');
      expect(await podman('inspect', 'serving', '--format', '{{.State.ExitCode}}')).toBe('0');
    },
    LONG,
  );

  it(
    'without a server to protect it says what is missing',
    async () => {
      const port = await reservePort();
      await start('bare', port);
      await expect
        .poll(() => podman('inspect', 'bare', '--format', '{{.State.Status}} {{.State.ExitCode}}'))
        .toBe('exited 1');
    },
    LONG,
  );
});

describe.skipIf(missing)('a Debian with nothing but Node and npm', () => {
  let folder: string;
  beforeAll(async () => {
    folder = join(base, 'debian');
    await copyWithClone(debian, root, folder);
  }, LONG);

  /** Starts a command and waits for its address. */
  async function start(command: string, variables: Readonly<Record<string, string>>): Promise<string> {
    const [program = '', ...args] = inDebian(folder, command, variables);
    const child = spawn(program, args, { detached: true });
    onTestFinished(() => end(child));
    let output = '';
    return new Promise((resolve, reject) => {
      const collect = (chunk: Buffer) => {
        output += String(chunk);
        const [, url] = /^ready (\S+)$/m.exec(output) ?? [];
        if (url !== undefined) resolve(url);
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.once('close', (code) => reject(new Error(`it ended with ${code}: ${output}`)));
    });
  }

  async function end(child: ChildProcess): Promise<void> {
    if (child.pid === undefined || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    process.kill(-child.pid, 'SIGTERM');
    await gone;
  }

  it(
    'runs the two commands of the README in a clone',
    async () => {
      const command = 'cd /clone && npm ci --omit=dev --omit=optional && npm start';
      const url = await start(command, { PORTCULLIS_PORT: String(await reservePort()) });
      expect(await statusOf(`${url}/mcp`)).toBe(401);
    },
    LONG,
  );

  it(
    'runs `npx @portcullis/cli protect` in an empty folder',
    async () => {
      await using registry = await startRegistry(root);
      const command = 'mkdir /empty && cd /empty && npx --yes @portcullis/cli protect http://127.0.0.1:9/mcp';
      const variables = { PORTCULLIS_PORT: String(await reservePort()), npm_config_registry: registry.url };
      expect(await statusOf(`${await start(command, variables)}/mcp`)).toBe(401);
    },
    LONG,
  );
});
