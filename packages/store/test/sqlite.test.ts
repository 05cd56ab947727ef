/** SQLite files alone: folders, files of other programs, locks, a full disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { openStore, StoreError } from '@portcullis/store';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { sql } from '../src/sql.ts';
import { openSqlite } from '../src/sqlite/open.ts';
import { grantOf, issueSampleCode, NOW, newClient, newEvent, times } from '../testing/samples.ts';
import { sqliteFiles } from './databases.ts';

const files = sqliteFiles();

describe('a SQLite file that changes under an open store', () => {
  const outage = { code: 'temporarily_unavailable', status: 503 };

  it('a removed file, or one whose WAL was removed, is refused instead of written in vain', async () => {
    for (const ending of ['', '-wal']) {
      const file = await files();
      const store = await openStore(file);
      await store.saveClient(newClient());
      rmSync(file + ending);
      await expect(store.saveClient(newClient())).rejects.toMatchObject(outage);
      await expect(store.ping()).rejects.toMatchObject(outage);
      await expect(store.checkWritable(NOW)).rejects.toMatchObject(outage);
      await store.close();
    }
  });

  it('a replaced file is refused, and used again when the one that was opened is back', async () => {
    const file = await files();
    const store = await openStore(file);
    const [kept, refused] = [newClient(), newClient()];
    await store.saveClient(kept);
    renameSync(file, `${file}.away`);
    writeFileSync(file, '');
    await expect(store.saveClient(refused)).rejects.toMatchObject(outage);
    await expect(store.findClient(kept.id)).rejects.toMatchObject(outage);

    renameSync(`${file}.away`, file);
    expect(await store.findClient(kept.id)).toEqual(kept);
    expect(await store.findClient(refused.id)).toBeNull();
    await store.checkWritable(NOW);
    await store.close();
  });

  it('a file overwritten with other bytes is not writable, although its pages are still in memory', async () => {
    const file = await files();
    const store = await openStore(file);
    await store.checkWritable(NOW);
    new DatabaseSync(file).exec('PRAGMA wal_checkpoint(TRUNCATE)');
    writeFileSync(file, Buffer.alloc(statSync(file).size, 'x'), { flag: 'r+' });
    await expect(store.checkWritable(NOW)).rejects.toMatchObject(outage);
    await store.close().catch(() => {});
  });

  it('a check for writing leaves nothing that limits, and is swept', async () => {
    const file = await files();
    const store = await openStore(file);
    await store.checkWritable(NOW);
    expect(await store.sweep(NOW + 1, 10)).toBe(1);
    await store.close();
  });
});

describe('opening a SQLite file', () => {
  it('creates the file with its WAL and shared-memory files, readable by its owner only', async () => {
    const file = await files();
    const store = await openStore(file);
    await store.saveClient(newClient());
    for (const path of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    await store.close();
  });

  it('takes the access of others from an existing file and its WAL and shared-memory files, and says so', async () => {
    const file = await files();
    const first = await openStore(file);
    await first.saveClient(newClient());
    const paths = [file, `${file}-wal`, `${file}-shm`];
    for (const path of paths) chmodSync(path, 0o644);
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const second = await openStore(file);
    expect(paths.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    expect(warned.mock.calls).toEqual([
      [
        expect.stringMatching(/^Every user .* could read .*\.db, .*-wal, .*-shm\./),
        { code: 'PORTCULLIS_FILE_MODE' },
      ],
    ]);
    chmodSync(file, 0o640);
    await (await openStore(file)).close();
    expect([statSync(file).mode & 0o777, warned.mock.calls.length]).toEqual([0o640, 1]);
    await second.close();
    await first.close();
  });

  it('refuses a file that every user can write, and opens it after chmod 600', async () => {
    const file = await files();
    await (await openStore(file)).close();
    chmodSync(file, 0o666);
    const before = content(file);
    await expect(openStore(file)).rejects.toThrow(
      /^Every user of this computer can write the SQLite file .* chmod 600 it\.$/,
    );
    expect([content(file), statSync(file).mode & 0o777]).toEqual([before, 0o666]);
    chmodSync(file, 0o600);
    await (await openStore(file)).close();
  });

  it('waits for the disk at each commit (synchronous=FULL), also of a file that it opens again', async () => {
    const file = await files();
    for (let times = 0; times < 2; times += 1) {
      const database = await openSqlite(file, 1);
      const [settings] = await database.read<{ readonly synchronous: number; readonly journal_mode: string }>(
        sql`SELECT s.synchronous, j.journal_mode FROM pragma_synchronous s, pragma_journal_mode j`,
      );
      // 2 is FULL: with NORMAL, which is 1, a loss of power takes back what clients were told.
      expect([settings?.synchronous, settings?.journal_mode]).toEqual([2, 'wal']);
      await database.close();
    }
  });

  it('opens the file in WAL mode', async () => {
    const file = await files();
    await (await openStore(file)).close();
    const connection = new DatabaseSync(file);
    expect(connection.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    connection.close();
  });

  const issues = [
    {
      description: 'a folder that does not exist',
      prepare: (file: string) => join(dirname(file), 'missing', 'portcullis.db'),
      message: /^The folder .*missing does not exist\. Create it first\.$/,
    },
    {
      description: 'a folder instead of a file',
      prepare: (file: string) => {
        mkdirSync(file);
        return file;
      },
      message: /^The SQLite file .* cannot be opened: EISDIR.*\.$/,
    },
    {
      description: 'a file that is not a database',
      prepare: (file: string) => {
        writeFileSync(file, 'notes of another program\n'.repeat(100));
        return file;
      },
      message: /^The file .* is not a SQLite database\. Choose another file\.$/,
    },
    {
      description: 'a database of another program',
      prepare: (file: string) => {
        execute(file, 'CREATE TABLE users (id INTEGER)');
        return file;
      },
      message: /^The database contains tables of another program\. Give Portcullis a database of its own\.$/,
    },
  ];
  it.each(issues)('refuses $description and leaves it unchanged', async ({ prepare, message }) => {
    const location = prepare(await files());
    const before = content(location);
    const refused = openStore(location);
    await expect(refused).rejects.toThrow(StoreError);
    await expect(refused).rejects.toThrow(message);
    expect(content(location)).toEqual(before);
  });

  it('refuses a SQLite file of a newer version, and opens it once the version is supported', async () => {
    const file = await files();
    await (await openStore(file)).close();
    execute(file, "INSERT INTO portcullis_migrations VALUES (9999, 'the future', 0)");
    await expect(openStore(file)).rejects.toThrow(
      /created by a newer version of Portcullis \(schema 9999; this version supports up to \d+\)/,
    );
    execute(file, 'DELETE FROM portcullis_migrations WHERE number = 9999');
    await (await openStore(file)).close();
  });

  it('runs each migration once when several stores open an empty file concurrently', async () => {
    const file = await files();
    const stores = await Promise.all(times(6, () => openStore(file)));
    for (const store of stores) await store.ping();
    const connection = new DatabaseSync(file);
    const numbers = connection.prepare('SELECT number FROM portcullis_migrations ORDER BY number').all();
    expect(numbers).toEqual(numbers.map((_, index) => ({ number: index + 1 })));
    connection.close();
    for (const store of stores) await store.close();
  });

  it.each(['', 'mysql://localhost/portcullis', 'http://localhost', 'file:///portcullis.db'])(
    'refuses the location %j',
    async (location) => {
      await expect(openStore(location)).rejects.toThrow('must be a file path, :memory: or a postgres:// URL');
    },
  );
});

describe('operations in a SQLite file', () => {
  it('commits concurrent operations together, so the WAL grows far less', async () => {
    const walGrowthOf = async (save: (store: AuthorizationStore) => Promise<unknown>) => {
      const file = await files();
      const store = await openStore(file);
      const before = statSync(`${file}-wal`).size;
      await save(store);
      const { size } = statSync(`${file}-wal`);
      await store.close();
      return size - before;
    };
    const clients = times(50, () => newClient());
    const apart = await walGrowthOf(async (store) => {
      for (const client of clients) await store.saveClient(client);
    });
    const together = await walGrowthOf((store) =>
      Promise.all(clients.map((client) => store.saveClient(client))),
    );
    expect(together).toBeGreaterThan(0);
    expect(together).toBeLessThan(apart / 4);
  });
});

describe('audit events in a group commit', () => {
  it('commits audit events in the same commit as the operations beside them', async () => {
    const file = await files();
    const store = await openStore(file);
    const before = commitsOf(file);
    const event = newEvent();
    let joined: Promise<void> | null = null;
    store.beforeCommit(() => {
      joined = store.appendEvents([event]);
    }, 60_000);
    await Promise.all([store.saveClient(newClient()), store.saveClient(newClient())]);
    await joined;
    expect(await store.listEvents('', 10)).toEqual([event]);
    expect(commitsOf(file)).toBe(before + 1);
    await store.saveClient(newClient());
    await store.appendEvents([newEvent()]);
    expect(commitsOf(file)).toBe(before + 3);
    await store.close();
  });
});

/**
 * Counts commits since the WAL began: the last frame of each commit carries the size of the database.
 * @see https://sqlite.org/fileformat2.html#the_write_ahead_log
 */
function commitsOf(file: string): number {
  const wal = readFileSync(`${file}-wal`);
  const frame = 24 + wal.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at < wal.length; at += frame) if (wal.readUInt32BE(at + 4) > 0) commits += 1;
  return commits;
}

describe('a SQLite file that another process has locked', () => {
  it('queues operations on a locked file in order, without blocking the process', async () => {
    const file = await files();
    const store = await openStore(file);
    const lock = new DatabaseSync(file);
    lock.exec('BEGIN IMMEDIATE');
    const client = newClient();
    const order: string[] = [];
    const save = async (name: string) =>
      order.push(`${name} ${(await store.saveClient(client)) ? 'saved' : 'refused'}`);
    const operations = [save('first'), save('second')];
    await sleep(20);
    operations.push(save('third'));
    await sleep(20);
    expect(order).toEqual([]);
    expect(await store.findClient(client.id)).toBeNull();
    lock.exec('COMMIT');
    await Promise.all(operations);
    expect(order).toEqual(['first saved', 'second refused', 'third refused']);
    expect(await store.findClient(client.id)).toEqual(client);
    lock.close();
    await store.close();
  });

  it('rejects operations as unavailable after the busy timeout, and recovers on its own', async () => {
    const file = await files();
    const store = await openStore(file, { busyTimeout: 0.1 });
    const code = await issueSampleCode(store);
    const lock = new DatabaseSync(file);
    lock.exec('BEGIN IMMEDIATE');
    await expect(store.redeemCode(code.hash, grantOf(code), null, NOW)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      status: 503,
      retryAfter: 5,
      reason: expect.stringMatching(/^SQLite: database is locked/),
      description: expect.not.stringContaining('SQLite'),
    });
    expect(await store.findCode(code.hash)).toEqual({ ...code, consumedAt: null });
    lock.exec('ROLLBACK');
    expect(await store.redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
    lock.close();
    await store.close();
  });
});

describe.skipIf(process.platform === 'win32')('a full disk', () => {
  it('reports a full disk as an outage, and keeps exactly the confirmed operations', async () => {
    const file = await files();
    // No file may grow beyond 900 blocks of 1024 bytes, a little more than an empty database; bash ignores the signal that would end the process.
    const filler = fileURLToPath(new URL('filler.ts', import.meta.url));
    const child = spawn(
      'bash',
      ['-c', `trap '' XFSZ; ulimit -f 900; exec "$0" "$@"`, process.execPath, ...sourceFlags(), filler, file],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    expect((await once(child, 'exit'))[0]).toBe(0);
    const { saved, refusal } = JSON.parse(output) as {
      readonly saved: readonly string[];
      readonly refusal: unknown;
    };
    expect(refusal).toMatchObject({
      code: 'temporarily_unavailable',
      reason: expect.stringMatching(/^SQLite: /),
    });
    expect(saved.length).toBeGreaterThan(10);

    const store = await openStore(file);
    for (const id of saved) expect(await store.findClient(id)).not.toBeNull();
    await store.close();
  });
});

function execute(file: string, text: string): void {
  const connection = new DatabaseSync(file);
  connection.exec(text);
  connection.close();
}

function content(location: string): Buffer | null {
  try {
    return readFileSync(location);
  } catch {
    return null;
  }
}
