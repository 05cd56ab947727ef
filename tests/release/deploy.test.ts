/** The container image, the compose file and the systemd unit, as far as their text shows it. Image and file are built and run by `npm run container`. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { runHere } from '../../packages/cli/test/support/in-process.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

describe('deploy/Containerfile', () => {
  const text = read('deploy/Containerfile').replaceAll('\\\n', '');
  const last = text.slice(text.lastIndexOf('\nFROM '));

  it('runs as a user that is not root, by number', () => {
    expect([...last.matchAll(/^USER (.*)$/gm)].map(([, user]) => user)).toEqual(['1000:1000']);
  });

  it('has a health check, a signal to stop, and a command without a shell in between', () => {
    expect(last).toMatch(/^HEALTHCHECK .*CMD \["node", .*\/healthz/m);
    expect(last).toMatch(/^STOPSIGNAL SIGTERM$/m);
    expect(last).toMatch(/^ENTRYPOINT \["node", /m);
  });

  it('installs the versions of the lock file, without running a script of a package', () => {
    expect(text).toMatch(/^RUN npm ci .*--omit=dev .*--ignore-scripts$/m);
    expect(read('.dockerignore')).toBe(read('.containerignore'));
  });
});

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
}

describe('deploy/compose.yaml', () => {
  const { services }: { services: Readonly<Record<string, Service>> } = parse(read('deploy/compose.yaml'));
  const known: Readonly<Record<string, string>> = {
    PUBLIC_HOST: 'auth.example.com',
    BACKEND_URL: 'http://mcp:3000/mcp',
    POSTGRES_PASSWORD: 'secret',
  };
  const replace = (text: string) =>
    text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => known[name] ?? '');

  it('publishes the proxy only', () => {
    const published = Object.keys(services).filter((name) => services[name]?.ports !== undefined);
    expect([Object.keys(services), published]).toEqual([['portcullis', 'postgres', 'proxy'], ['proxy']]);
  });

  it('restricts the server: read-only, without capabilities and new privileges, with time to stop', () => {
    expect(services['portcullis']).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      stop_grace_period: '330s',
      healthcheck: { test: expect.stringMatching(/^node -e ".*\/readyz.*"$/) },
    });
  });

  it('has settings that the server accepts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-compose-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { environment = {}, command = [] } = services['portcullis'] ?? {};
    const written = Object.entries(environment).map(([name, value]) => [name, replace(value)]);
    expect(command.map(replace)).toEqual(['protect', 'http://mcp:3000/mcp']);
    const servers = JSON.stringify([{ path: '/mcp', name: 'x', backend: { url: command.map(replace)[1] } }]);
    const settings = {
      ...Object.fromEntries(written),
      PORTCULLIS_HOST: '0.0.0.0',
      PORTCULLIS_SERVERS: servers,
    };
    expect(await runHere(['config', 'check'], { folder, environment: settings })).toMatchObject({
      errors: '',
    });
  });
});

describe('deploy/portcullis.service', () => {
  const unit = read('deploy/portcullis.service');
  const analyze = (...words: readonly string[]) =>
    promisify(execFile)('systemd-analyze', [...words]).then(
      ({ stdout, stderr }) => stdout + stderr,
      (error: { readonly stdout?: string; readonly stderr?: string }) =>
        `failed: ${error.stdout}${error.stderr}`,
    );

  it('leaves calls in progress their time: only the first process is told to stop, and killed after all others', () => {
    const seconds = (name: string) => Number(new RegExp(`${name}=(\\d+)$`, 'm').exec(unit)?.[1]);
    const drain = 3;
    expect(seconds('PORTCULLIS_SHUTDOWN_TIMEOUT')).toBeGreaterThan(300);
    expect(seconds('TimeoutStopSec')).toBeGreaterThan(seconds('PORTCULLIS_SHUTDOWN_TIMEOUT') + drain + 5);
    expect(unit).toMatch(/^KillMode=mixed$/m);
    expect(unit).toMatch(/^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
  });

  it('is accepted by systemd, which finds little exposure (skipped where systemd is not installed)', async ({
    skip,
  }) => {
    if ((await analyze('--version')).startsWith('failed')) skip();
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-systemd-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'portcullis.service');
    await writeFile(file, unit.replace('/usr/local/bin/portcullis', process.execPath));
    expect(await analyze('verify', file)).toBe('');
    expect(await analyze('security', '--offline=true', '--threshold=15', file)).not.toContain('failed');
  });
});
