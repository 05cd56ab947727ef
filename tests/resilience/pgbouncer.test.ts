/** PostgreSQL behind pgbouncer in transaction mode, in the installed version: Debian 12 has 1.18, which keeps no prepared statements. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startPortcullis } from '../support/portcullis.ts';
import { reservePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres.ts';
import type { AtEnd } from './servers.ts';
import { TIMEOUT } from './sizes.ts';

const version = await promisify(execFile)('pgbouncer', ['--version']).then(
  ({ stdout }) => /PgBouncer (\d+)\.(\d+)/.exec(stdout),
  () => null,
);
const isOld = version !== null && Number(version[1]) === 1 && Number(version[2]) < 21;

/** The location of the same database behind a pooler. */
async function startPooler(database: string, mode: 'session' | 'transaction', atEnd: AtEnd): Promise<string> {
  const { hostname, port: postgresPort, username } = new URL(database);
  const port = await reservePort();
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${postgresPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 20
${isOld ? '' : 'max_prepared_statements = 200'}
`,
  );
  await chmod(folder, 0o755);
  // It refuses to run as root.
  const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn('pgbouncer', ['--quiet', file], { ...owner, stdio: 'ignore' });
  atEnd(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true });
  });
  await expect.poll(() => isListening(port)).toBe(true);
  return Object.assign(new URL(database), { hostname: '127.0.0.1', port: String(port) }).href;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

describe.skipIf(version === null)('behind pgbouncer (skipped where it is not installed)', () => {
  it.each(['transaction', 'session'] as const)(
    'everything works in %s mode, and startup says whether prepared statements have to be done without',
    async (mode) => {
      const endings: (() => Promise<void>)[] = [];
      try {
        const postgres = await startPostgres();
        endings.unshift(postgres.stop);
        const location = await startPooler(await postgres.createDatabase(), mode, (end) =>
          endings.unshift(end),
        );
        const portcullis = await startPortcullis({ database: location });
        endings.unshift(async () => void (await portcullis.stop()));
        const register = async () => {
          const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] });
          const headers = { 'content-type': 'application/json' };
          return (await fetch(`${portcullis.url}/register`, { method: 'POST', headers, body })).status;
        };
        const authorize = async () => (await fetch(`${portcullis.url}/authorize?client_id=none`)).status;
        const statuses = await Promise.all(
          Array.from({ length: 20 }, (_, index) => (index < 8 ? register() : authorize())),
        );
        expect(new Set(statuses)).toEqual(new Set([201, 400]));
        expect((await fetch(`${portcullis.url}/readyz`)).status).toBe(200);
        const says = portcullis.errors().includes('does not keep prepared statements');
        expect(says).toBe(isOld && mode === 'transaction');
      } finally {
        for (const end of endings) await end();
      }
    },
    TIMEOUT,
  );
});
