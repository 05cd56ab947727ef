/** `portcullis approvals`, on the database of a server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-approvals-'));
afterAll(() => rmSync(folder, { recursive: true }));

const environment = { PORTCULLIS_DATABASE: 'portcullis.db', PORTCULLIS_PUBLIC_URL: 'https://as.example' };
const run = (...args: readonly string[]) => runHere(['approvals', ...args], { environment, folder });

const ONCE = 'approval-once'.padEnd(43, '0');
const TIMED = 'approval-timed'.padEnd(43, '0');
const DEFINITION = JSON.stringify({ name: 'delete_file', description: 'Deletes\na file.' });
/** With an escape sequence, a direction override, a number that no double holds, and a name of two lines. */
const ARGUMENTS = '{"path":"/a\\u001b[31m\\u202etxt","size":12345678901234567890,"x\\n  arguments":1}';

beforeEach(async () => {
  rmSync(join(folder, 'portcullis.db'), { force: true });
  await runHere(['migrate'], { environment, folder });
  using database = new DatabaseSync(join(folder, 'portcullis.db'));
  database.exec(
    `INSERT INTO accounts VALUES ('user_ada', 'ada@example.com', 'ada@example.com', '$argon2id$', 1, NULL, NULL)`,
  );
  const insert = database.prepare(
    `INSERT INTO approvals (id, call_hash, subject, client_id, server, tool, arguments_hash, rule, arguments, definition,
       approver_groups, reusable_for, created_at, expires_at, is_reusable)
     VALUES (?, ?, 'user_ada', 'app', '/files', 'delete_file', 'hash', 'servers[0].tools["*"].approval', ?, ?, ?, ?, ?, ?, 0)`,
  );
  const now = Math.floor(Date.now() / 1000);
  insert.run(ONCE, 'one', ARGUMENTS, DEFINITION, '["leads"]', null, now - 10, now + 600);
  insert.run(TIMED, 'two', '', null, null, 900, now - 5, now + 600);
});

function decisions(): readonly unknown[] {
  using database = new DatabaseSync(join(folder, 'portcullis.db'));
  return database
    .prepare('SELECT outcome, decided_by, reason, is_reusable FROM approvals ORDER BY created_at')
    .all()
    .map((row) => Object.values(row));
}

const PENDING = [null, null, null, 0];

function events(): readonly unknown[] {
  using database = new DatabaseSync(join(folder, 'portcullis.db'));
  return database
    .prepare("SELECT type FROM audit_events WHERE type LIKE 'approval.%'")
    .all()
    .map(({ type }) => type);
}

describe('`portcullis approvals`', () => {
  it('lists the calls that wait, the oldest first', async () => {
    const { code, output } = await run('list');
    expect(code).toBe(0);
    expect(output.split('\n')).toEqual([
      expect.stringMatching(
        /^approval .* delete_file at \/files for ada@example.com, by app; waits for leads$/,
      ),
      expect.stringMatching(/^approval .*; waits for the user$/),
      '',
    ]);
  });

  it('names the app', async () => {
    const clients = [
      { client_id: 'app', client_name: 'Writing Desk', redirect_uris: ['https://app.example/'] },
    ];
    const named = { ...environment, PORTCULLIS_CLIENTS: JSON.stringify(clients) };
    const { output } = await runHere(['approvals', 'show', ONCE], { environment: named, folder });
    expect(output).toContain(', by Writing Desk (app); waits for leads');
    expect(output).toContain('  client  Writing Desk (app)\n');
  });

  it('shows all arguments, with their digits and with what a terminal would hide', async () => {
    const { output } = await run('show', ONCE);
    expect(output).toContain('    path: "/a<U+001B>[31m<U+202E>txt"\n');
    expect(output).toContain('    size: 12345678901234567890\n    x<U+000A>  arguments: 1\n');
    expect(output).toContain('  tool    Deletes a file.\n');
    expect((await run('show', TIMED)).output).toContain('  no arguments\n');
  });

  it('allows a call once, by the beginning of its ID, and says so in an event', async () => {
    expect(await run('allow', 'approval-o')).toMatchObject({
      code: 0,
      output: 'Allowed delete_file once.\n',
    });
    expect(decisions()).toEqual([['approved', 'operator', null, 0], PENDING]);
    expect(events()).toEqual(['approval.granted']);
    const again = await run('deny', ONCE);
    expect([again.code, again.errors]).toEqual([
      1,
      expect.stringContaining('it was decided, or has expired'),
    ]);
    expect(decisions()).toEqual([['approved', 'operator', null, 0], PENDING]);
  });

  it('allows the same call again only where the rule offers it', async () => {
    const refused = await run('allow', ONCE, '--again');
    expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining('leave --again out')]);
    expect(decisions()).toEqual([PENDING, PENDING]);
    expect((await run('allow', TIMED, '--again')).output).toBe('Allowed delete_file for 900 seconds.\n');
    expect(decisions()).toEqual([PENDING, ['approved', 'operator', null, 1]]);
  });

  it('denies a call with a reason on one line', async () => {
    expect((await run('deny', ONCE, '--reason', 'not\n\u202enow')).output).toBe('Denied delete_file.\n');
    expect(decisions()).toEqual([['denied', 'operator', 'not now', 0], PENDING]);
    expect(events()).toEqual(['approval.denied']);
  });

  it('decides about none when the beginning of an ID names several, or none', async () => {
    for (const [id, why] of [
      ['approval-', 'does not name one pending approval'],
      ['unknown-id', 'No pending approval has an ID that begins with unknown-id'],
      ['a', 'give more of its ID'],
    ] as const)
      expect(await run('allow', id)).toMatchObject({
        code: 1,
        output: '',
        errors: expect.stringContaining(why),
      });
    expect(decisions()).toEqual([PENDING, PENDING]);
  });
});
