/** `portcullis connections end --since`: after a restored backup. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-connections-'));
afterAll(() => rmSync(folder, { recursive: true }));

const environment = { PORTCULLIS_DATABASE: 'portcullis.db', PORTCULLIS_PUBLIC_URL: 'https://as.example' };
const run = (...args: readonly string[]) => runHere(args, { environment, folder });

const BACKUP = '2026-03-01T04:00:00Z';
const backedUpAt = Date.parse(BACKUP) / 1000;

function openDatabase(): DatabaseSync {
  return new DatabaseSync(join(folder, 'portcullis.db'));
}

/** Grants of Ada and Bob: one of each was used before the backup, and one of Ada's since. */
beforeEach(async () => {
  rmSync(join(folder, 'portcullis.db'), { force: true });
  await run('migrate');
  using database = openDatabase();
  for (const name of ['ada', 'bob']) {
    database.exec(
      `INSERT INTO accounts VALUES ('user_${name}', '${name}@example.com', '${name}@example.com', '$argon2id$', 1, NULL, NULL)`,
    );
  }
  const grants = [
    ['grant_old', 'ada', backedUpAt - 10],
    ['grant_used', 'ada', backedUpAt + 3600],
    ['grant_bob', 'bob', backedUpAt - 86_400],
  ] as const;
  for (const [id, name, usedAt] of grants) {
    database.exec(
      `INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, last_used_at, consent_digest)
       VALUES ('${id}', 'client', 'user_${name}', '[]', '[]', 1, 9999999999, ${usedAt}, '')`,
    );
  }
});

function liveGrants(): readonly unknown[] {
  using database = openDatabase();
  return database
    .prepare('SELECT id FROM grants WHERE revoked_at IS NULL ORDER BY id')
    .all()
    .map(({ id }) => id);
}

describe('`connections end` with a connection on its own', () => {
  it('ends this connection of the account that it belongs to', async () => {
    expect(await run('connections', 'end', 'grant_old')).toMatchObject({
      code: 0,
      output: 'Ended 1 connection.\n',
    });
    expect(liveGrants()).toEqual(['grant_bob', 'grant_used']);
  });

  it('ends nothing when there is no such connection', async () => {
    const { code, errors } = await run('connections', 'end', 'grant_unknown');
    expect([code, errors]).toEqual([1, expect.stringContaining('Name one connection')]);
    expect(liveGrants()).toEqual(['grant_bob', 'grant_old', 'grant_used']);
  });
});

describe('`connections end --since`', () => {
  it.each(['connections', 'grants'])(
    '`%s end --since` ends what was not used since a backup',
    async (name) => {
      expect(await run(name, 'end', '--since', BACKUP)).toMatchObject({
        code: 0,
        output: `Ended 2 connections not used since ${BACKUP}.\n`,
      });
      expect(liveGrants()).toEqual(['grant_used']);
    },
  );

  it.each([
    [['--since', 'yesterday'], '--since must be a time such as'],
    [['--since', '9999-01-01T00:00Z'], '--since must be in the past'],
    [['--since', BACKUP, '--all'], '--since ends connections of every account'],
    [['--since', BACKUP, 'ada@example.com'], '--since ends connections of every account'],
    [[], 'Name an account, or pass --since'],
  ])('`connections end` with %j ends nothing and says why', async (args, message) => {
    const { code, errors } = await run('connections', 'end', ...args);
    expect(code).not.toBe(0);
    expect(errors).toContain(message);
    expect(liveGrants()).toEqual(['grant_bob', 'grant_old', 'grant_used']);
  });
});

it('`connections list --client` lists what all users, or one, allowed a client', async () => {
  const idsOf = async (...words: readonly string[]) => {
    const { output } = await run('connections', 'list', ...words, '--json');
    return (JSON.parse(output) as readonly { readonly id: string }[]).map(({ id }) => id).toSorted();
  };
  expect(await idsOf('--client', 'client')).toEqual(['grant_bob', 'grant_old', 'grant_used']);
  expect(await idsOf('bob@example.com', '--client', 'client')).toEqual(['grant_bob']);
  expect(await idsOf('--client', 'another')).toEqual([]);
});
