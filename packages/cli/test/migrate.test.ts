/** `portcullis migrate`: looks without touching, brings up to date, and says so. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Postgres, startPostgres } from '../../../tests/support/postgres.ts';
import { type Migration, migrations } from '../../store/src/schema/migrations.ts';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-migrate-'));
afterAll(() => rmSync(folder, { recursive: true }));

const migrate = (database: string, ...args: readonly string[]) =>
  runHere(['migrate', ...args], { environment: { PORTCULLIS_DATABASE: database }, folder });

describe.each(['SQLite', 'PostgreSQL'] as const)('on %s', (kind) => {
  let location = 'portcullis.db';
  let postgres: Postgres | undefined;
  beforeAll(async () => {
    if (kind === 'SQLite') return;
    postgres = await startPostgres();
    location = await postgres.createDatabase();
  });
  afterAll(() => postgres?.stop());

  it('`migrate --check` lists pending migrations without changes, and `migrate` applies them once', async () => {
    const checked = await migrate(location, '--check');
    expect([checked.code, checked.errors]).toEqual([1, '']);
    expect(checked.output).toMatch(/^Pending migrations:\n {4}1 {2}initial schema/);
    if (kind === 'SQLite') expect(existsSync(join(folder, location))).toBe(false);

    const listed = JSON.parse((await migrate(location, '--check', '--json')).output);
    expect(listed.pending.at(-1).number).toBe(listed.newest);
    const done = await migrate(location);
    expect(done).toMatchObject({
      code: 0,
      errors: '',
      output: checked.output.replace('Pending migrations', 'Applied migrations'),
    });
    const upToDate = `The database is up to date, at ${listed.newest}.\n`;
    expect(await migrate(location, '--check')).toEqual({ code: 0, errors: '', output: upToDate });
    expect(await migrate(location)).toEqual({ code: 0, errors: '', output: upToDate });
  });

  it('`migrate` rejects a database of a development version, although its number is that of this version', async () => {
    await migrate(location);
    const rename = (name: string) => `UPDATE portcullis_migrations SET name = '${name}' WHERE number = 17`;
    const name = migrations.find(({ number }) => number === 17)?.name ?? '';
    await change(rename('another one'));
    for (const args of [['--check'], []]) {
      const { code, output, errors } = await migrate(location, ...args);
      expect([code, output]).toEqual([1, '']);
      expect(errors).toContain(
        `development version of Portcullis: its migration 17 is "another one"; in this version it is "${name}".`,
      );
    }
    await change(rename(name));
    expect((await migrate(location, '--check')).code).toBe(0);
  });

  async function change(sql: string): Promise<void> {
    if (kind === 'SQLite') {
      using database = new DatabaseSync(join(folder, location));
      database.exec(sql);
      return;
    }
    const client = new Client({ connectionString: location });
    await client.connect();
    await client.query(sql);
    await client.end();
  }
});

describe.each(['SQLite', 'PostgreSQL'] as const)('a database on %s that is behind', (kind) => {
  const file = join(folder, 'behind.db');
  let location = file;
  let postgres: Postgres | undefined;
  let read: (sql: string) => Promise<unknown>;
  beforeAll(async () => {
    if (kind === 'PostgreSQL') {
      postgres = await startPostgres();
      location = await postgres.createDatabase();
    }
    await migrate(location);
    read = async (sql) => {
      if (kind === 'SQLite') {
        using database = new DatabaseSync(file);
        return database.prepare(sql).all();
      }
      const client = new Client({ connectionString: location });
      await client.connect();
      try {
        return (await client.query(sql)).rows;
      } finally {
        await client.end();
      }
    };
  });
  afterAll(() => postgres?.stop());

  const NUMBERS = 'SELECT number FROM portcullis_migrations ORDER BY number';
  const commands = [
    ['users', 'list'],
    ['users', 'add', 'ada@example.com'],
    ['users', 'disable', 'ada@example.com'],
    ['clients', 'list'],
    ['clients', 'add', '--id', 'app', '--redirect-uri', 'https://app.example/cb'],
    ['clients', 'invite'],
    ['clients', 'initial-access-tokens'],
    ['connections', 'list', 'ada@example.com'],
    ['events'],
  ];

  it('every command but `migrate` rejects a database with pending migrations and leaves it unchanged', async () => {
    const environment = { PORTCULLIS_DATABASE: location };
    expect(await runHere(['users', 'list'], { environment, folder })).toMatchObject({ code: 0, errors: '' });
    // As if this version were a later one, whose schema has one migration more.
    const number = (migrations.at(-1)?.number ?? 0) + 1;
    (migrations as Migration[]).push({ number, name: 'later', statements: () => [] });
    onTestFinished(() => {
      (migrations as Migration[]).pop();
    });
    const before = await read(NUMBERS);
    for (const words of commands) {
      const { code, output, errors } = await runHere(words, { environment, folder });
      expect([words, code, output]).toEqual([words, 1, '']);
      expect(errors).toMatch(
        /^portcullis: PORTCULLIS_DATABASE \(--database\) is [^\n]+, which lacks one migration of this version: portcullis migrate --check lists the pending migrations; portcullis migrate or the next server start applies them\n$/,
      );
    }
    expect(await read(NUMBERS)).toEqual(before);
  });
});

describe('an empty database', () => {
  it('every command but `migrate` rejects a missing database and creates none', async () => {
    const location = join(folder, 'empty.db');
    const environment = { PORTCULLIS_DATABASE: location };
    for (const words of [
      ['users', 'list'],
      ['users', 'add', 'ada@example.com'],
      ['clients', 'add'],
      ['clients', 'invite'],
    ]) {
      const { code, output, errors } = await runHere(words, { environment, folder });
      expect([words, code, output, errors]).toEqual([
        words,
        1,
        '',
        expect.stringContaining('where there is no database: start the server first'),
      ]);
    }
    expect(existsSync(location)).toBe(false);
    expect((await migrate(location)).code).toBe(0);
    expect((await runHere(['users', 'add', 'ada@example.com'], { environment, folder })).code).toBe(0);
  });

  it('`migrate` creates a database only where it is named', async () => {
    const { code, errors } = await runHere(['migrate'], { environment: {}, folder });
    expect([code, errors]).toEqual([1, expect.stringContaining('to create a database here, name it with')]);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});

describe('refuses in one line, and changes nothing,', () => {
  it.each([
    ['a file that is no database', 'text.db', /cannot be used: file is not a database/],
    ['a database of another program', 'other.db', /cannot be used: The database contains tables of another program/],
    ['a database of a newer version', 'newer.db', /cannot be used: The database was created by a newer version of Portcullis/],
    ['one in memory', ':memory:', /which no other process can see/],
  ])('`migrate` rejects %s with one line and changes nothing', async (_what, location, says) => {
    writeFileSync(join(folder, 'text.db'), 'This is no database, but a text that is long enough to be one.'.repeat(20));
    const other = new DatabaseSync(join(folder, 'other.db'));
    other.exec('CREATE TABLE IF NOT EXISTS theirs (id TEXT)');
    other.close();
    if (!existsSync(join(folder, 'newer.db'))) await migrate('newer.db');
    const newer = new DatabaseSync(join(folder, 'newer.db'));
    // Without a journal, which reading would leave beside it.
    newer.exec("PRAGMA journal_mode = DELETE; INSERT OR IGNORE INTO portcullis_migrations VALUES (999, 'later', 1)");
    newer.close();
    const before = readdirSync(folder).toSorted();
    for (const args of [['--check'], []]) {
      const { code, output, errors } = await migrate(location, ...args);
      expect([code, output]).toEqual([1, '']);
      expect(errors).toMatch(/^portcullis: PORTCULLIS_DATABASE \(--database\) is [^\n]+\n$/);
      expect(errors).toMatch(says);
    }
    expect(readdirSync(folder).toSorted()).toEqual(before);
  }); // biome-ignore format: a table
});
