/** docs/guides/back-up.md: its commands, run in its order by a shell, beside a running server. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reservePort } from '../support/ports.ts';
import { startServer } from '../support/postgres.ts';
import { sourceFlags } from '../support/source-flags.ts';

const guide = readFileSync(new URL('../../docs/guides/back-up.md', import.meta.url), 'utf8');
const main = fileURLToPath(new URL('../../packages/cli/bin.js', import.meta.url));
const blocks = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

/** The one block with these words. */
function blockWith(words: string): string {
  const found = blocks.filter((block) => block.includes(words));
  if (found.length !== 1) throw new Error(`${found.length} blocks of the guide contain ${words}`);
  return found[0] ?? '';
}

interface Operator {
  readonly folder: string;
  /** Runs lines of a shell to their end, with the names of this computer in place of those of the guide. @returns its output */
  shell(lines: string, environment?: Readonly<Record<string, string>>): Promise<string>;
  /** Starts lines of a shell that run a server, with no settings but theirs. @returns its URL once it is ready, and how to stop it */
  serve(
    lines: string,
  ): Promise<{ readonly url: string; readonly output: () => string; readonly stop: () => Promise<void> }>;
}

/** A folder where `node` is this one, and `portcullis` that of the sources. */
function createOperator(): Operator {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-back-up-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [bin, safe] = [join(folder, 'bin'), join(folder, 'safe')];
  for (const made of [bin, safe]) mkdirSync(made);
  symlinkSync(process.execPath, join(bin, 'node'));
  const script = `#!/bin/sh\nexec '${process.execPath}' ${sourceFlags().join(' ')} '${main}' "$@"\n`;
  writeFileSync(join(bin, 'portcullis'), script);
  chmodSync(join(bin, 'portcullis'), 0o755);

  const resource = { resource: 'https://mcp.example/mcp', name: 'MCP', scopes: { 'mcp:read': 'Read' } };
  writeFileSync(join(folder, 'portcullis.json'), JSON.stringify({ resources: [resource] }));

  const here = (lines: string) =>
    lines
      .replaceAll('/media/safe', safe)
      .replaceAll(/portcullis-\d{4}-\d\d-\d\d\./g, `portcullis-${new Date().toISOString().slice(0, 10)}.`);
  const options = {
    cwd: folder,
    env: {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      TZ: 'UTC',
    },
  };
  return {
    folder,
    async shell(lines, environment = {}) {
      const env = { ...options.env, ...environment };
      const { stdout } = await promisify(execFile)('bash', ['-euc', here(lines)], { ...options, env });
      return stdout;
    },
    async serve(lines) {
      // The server is the last line: the shell becomes its process.
      const words = here(lines).replace(/^portcullis up/m, 'exec portcullis up');
      const child = spawn('bash', ['-euc', words], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
      onTestFinished(() => end(child));
      let written = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          written += text;
        });
      const url = await new Promise<string>((resolve, reject) => {
        child.stdout.on('data', () => {
          const ready = /^ready (\S+)$/m.exec(written)?.[1];
          if (ready !== undefined) resolve(ready);
        });
        child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${written}`)));
      });
      return { url, output: () => written, stop: () => end(child) };
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

const isInstalled = (program: string) =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, program)));

const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

describe('the guide to backups', () => {
  it('backs up SQLite twice, rehearses with the right key without a change of the backup, and restores it', async () => {
    const { folder, shell, serve } = createOperator();
    const port = await reservePort();
    const server = await serve(`portcullis up --config portcullis.json --port ${port}`);
    await shell('portcullis users add before@example.com');

    const withNode = blockWith('VACUUM INTO');
    await shell('mkdir -m 700 backup');
    for (const _ of [1, 2]) await shell(withNode);
    const [first = '', second] = readdirSync(join(folder, 'backup'));
    expect(second).toMatch(/^portcullis-.+\.db$/);
    if (isInstalled('sqlite3')) {
      for (const _ of [1, 2]) await shell(blockWith('sqlite3 data'));
    } else {
      await shell(
        `mv backup/${first} backup/portcullis-2026-11-23.db; cp data/portcullis.key /media/safe/portcullis.key`,
      );
    }
    await shell('portcullis users add after@example.com');

    const digests = () =>
      readdirSync(join(folder, 'backup')).map((name) => [name, digestOf(join(folder, 'backup', name))]);
    const before = digests();
    await shell(blockWith('mkdir -p -m 700 rehearsal'));
    const rehearse = blockWith('--port 8605').replace('8605', String(await reservePort()));
    writeFileSync(join(folder, 'safe/other.key'), randomBytes(32).toString('base64url'), { mode: 0o600 });
    const withOtherKey = rehearse.replace('portcullis.key', 'other.key');
    await expect(serve(withOtherKey)).rejects.toThrow('the master key does not decrypt');
    const rehearsal = await serve(rehearse);
    expect((await fetch(`${rehearsal.url}/readyz`)).status).toBe(200);
    expect(rehearsal.output()).not.toContain('PORTCULLIS_FILE_MODE');
    await rehearsal.stop();
    expect(digests()).toEqual(before);

    await server.stop();
    await shell(blockWith('rm -f data/portcullis.db'));
    const restored = await serve(`portcullis up --config portcullis.json --port ${port}`);
    const users = await shell('portcullis users list');
    expect(users).toContain('before@example.com');
    expect(users).not.toContain('after@example.com');
    const now = `${new Date().toISOString().slice(0, 16)}Z`;
    const ended = await shell(blockWith('--since').replace(/--since \S+/, `--since ${now}`));
    expect(ended).toMatch(/^Ended 0 connections/);
    await restored.stop();
  });

  const tools = installedPostgres();

  it.skipIf(tools === undefined)(
    'backs up PostgreSQL twice and restores it into another database, where pg_dump has a server of its version',
    async () => {
      const { shell } = createOperator();
      const postgres = await startServer(undefined, tools);
      onTestFinished(postgres.stop);
      const { port } = new URL(postgres.url);
      const at = (database: string) => ({
        PGHOST: '127.0.0.1',
        PGPORT: port,
        PGUSER: 'portcullis',
        PORTCULLIS_DATABASE: `postgres://portcullis@127.0.0.1:${port}/${database}`,
      });
      // As in docs/guides/postgresql.md: a role that may not create databases.
      await shell('createuser portcullis; createdb --owner=portcullis portcullis', {
        ...at('portcullis'),
        PGUSER: 'postgres',
      });
      await shell('portcullis migrate', at('portcullis'));
      await shell('portcullis users add before@example.com', at('portcullis'));
      for (const _ of [1, 2])
        expect(await shell(blockWith('pg_dump'), at('portcullis'))).toContain('TABLE DATA public accounts');
      await shell('portcullis users add after@example.com', at('portcullis'));

      await shell(blockWith('createdb'), at('portcullis'));
      const restored = at('portcullis_restored');
      expect(await shell('portcullis migrate --check', restored)).toContain('up to date');
      const users = await shell('portcullis users list', restored);
      expect(users).toContain('before@example.com');
      expect(users).not.toContain('after@example.com');
    },
  );
});

/** The folder of a PostgreSQL with the programs that the guide uses; the development dependencies have its server alone. */
function installedPostgres(): string | undefined {
  if (!isInstalled('pg_config')) return undefined;
  const folder = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
  const programs = ['initdb', 'postgres', 'createdb', 'createuser', 'pg_dump', 'pg_restore'];
  return programs.every((name) => existsSync(join(folder, name))) ? folder : undefined;
}
