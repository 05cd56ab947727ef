/** Readiness of the whole command: a full disk, a removed database file, and the draining phase. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { startPostgres } from '../support/postgres.ts';
import { TIMEOUT } from './sizes.ts';

const probe = ({ url }: Portcullis, path = '/readyz'): Promise<number | string> =>
  fetch(url + path).then(({ status }) => status, String);

const register = async ({ url }: Portcullis): Promise<number> => {
  const response = await fetch(`${url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] }),
  });
  return response.status;
};

/** A file system of 4 MiB in memory; `null` where this user may not mount one. */
function mountSmall(atEnd: (work: () => void) => void): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
  atEnd(() => {
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

describe('readiness of the command', () => {
  it(
    'a full disk makes it unready while it still serves, and it is ready again without a restart',
    async ({ onTestFinished: atEnd, skip }) => {
      const folder = mountSmall(atEnd);
      if (folder === null) return skip('this user may not mount a small file system');
      const portcullis = await startPortcullis({ database: join(folder, 'portcullis.db'), log: 'json' });
      atEnd(async () => void (await portcullis.stop()));
      expect([await probe(portcullis), await register(portcullis)]).toEqual([200, 201]);

      const filler = join(folder, 'filler');
      try {
        writeFileSync(filler, Buffer.alloc(8 * 1024 * 1024));
      } catch {
        // Full.
      }
      await expect.poll(() => probe(portcullis)).toBe(503);
      expect([await register(portcullis), await probe(portcullis, '/healthz')]).toEqual([503, 200]);
      await expect.poll(() => portcullis.output()).toContain('"type":"readiness.failed"');

      rmSync(filler);
      await expect.poll(() => probe(portcullis)).toBe(200);
      expect(await register(portcullis)).toBe(201);
      await expect.poll(() => portcullis.output()).toContain('"type":"readiness.recovered"');
    },
    TIMEOUT,
  );

  it(
    'a removed database file is refused with 503 at once, by the probe and by what would be lost',
    async ({ onTestFinished: atEnd }) => {
      const portcullis = await startPortcullis({ log: 'json' });
      atEnd(async () => void (await portcullis.stop()));
      expect([await probe(portcullis), await register(portcullis)]).toEqual([200, 201]);
      rmSync(portcullis.database);
      expect(await register(portcullis)).toBe(503);
      expect(await probe(portcullis)).toBe(503);
      await expect.poll(() => portcullis.output()).toContain('was removed or replaced');
    },
    TIMEOUT,
  );

  it(
    'a PostgreSQL database that became read-only makes it unready while it can be read, until it can be written again',
    async ({ onTestFinished: atEnd }) => {
      const postgres = await startPostgres();
      atEnd(postgres.stop);
      const database = await postgres.createDatabase();
      const portcullis = await startPortcullis({ database, log: 'json' });
      atEnd(async () => void (await portcullis.stop()));
      expect([await probe(portcullis), await register(portcullis)]).toEqual([200, 201]);
      const administrator = new Client({ connectionString: postgres.url });
      await administrator.connect();
      const name = new URL(database).pathname.slice(1);
      const setReadOnly = async (value: 'on' | 'off') => {
        await administrator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
        await administrator.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
          [name],
        );
      };

      await setReadOnly('on');
      await expect.poll(() => probe(portcullis)).toBe(503);
      expect([await register(portcullis), await probe(portcullis, '/healthz')]).toEqual([503, 200]);
      await expect.poll(() => portcullis.output()).toContain('read-only transaction');

      await setReadOnly('off');
      await administrator.end();
      await expect.poll(() => probe(portcullis)).toBe(200);
      expect(await register(portcullis)).toBe(201);
    },
    TIMEOUT,
  );

  it(
    'SIGTERM makes it unready first, while it still accepts connections and serves, and it ends with 0',
    async ({ onTestFinished: atEnd }) => {
      const portcullis = await startPortcullis({ drain: 2 });
      let code: number | null = null;
      atEnd(async () => void (await portcullis.stop()));
      expect(await probe(portcullis)).toBe(200);
      const stopped = portcullis.stop().then((exit) => {
        code = exit;
      });
      await expect.poll(() => probe(portcullis), { interval: 20 }).toBe(503);
      expect(await register(portcullis)).toBe(201);
      await stopped;
      expect(code).toBe(0);
    },
    TIMEOUT,
  );
});
