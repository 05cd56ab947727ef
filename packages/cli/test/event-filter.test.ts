/** The filters of `portcullis events`. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listEvents, type SearchedStore } from '@portcullis/admin/operations';

import { openStore } from '@portcullis/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runHere } from './support/in-process.ts';

const NOW = Date.now();

/** Newest last; the calls fill more than one page. */
const EVENTS = [
  event(0, 'token.issued', { clientId: 'inspector', accountId: 'user_ada', grantId: 'grant_1' }),
  call(1, { accountId: 'user_ada', clientId: 'inspector' }, { server: '/files', tool: 'read_file' }),
  call(
    2,
    { accountId: 'user_bob', clientId: 'inspector' },
    { server: '/files', tool: 'delete_file', decision: 'denied', outcome: 'refused' },
  ),
  ...Array.from({ length: 1_500 }, (_, index) =>
    call(3 + index, { accountId: 'user_bob', clientId: 'agent' }, { server: '/all', tool: 'read_file' }),
  ),
];

function event(index: number, type: string, more: Readonly<Record<string, unknown>>) {
  const at = NOW - 3_600_000 + index;
  return {
    id: `${at.toString(36).padStart(9, '0')}-${index}`,
    at,
    type,
    clientId: null,
    accountId: null,
    grantId: null,
    resource: null,
    transactionId: null,
    details: {},
    expiresAt: Math.floor(NOW / 1000) + 1_000,
    ...more,
  };
}

function call(
  index: number,
  who: Readonly<Record<string, unknown>>,
  what: Readonly<Record<string, unknown>>,
) {
  const details = { method: 'tools/call', decision: 'allowed', outcome: 'answered', ...what };
  return event(index, 'call.finished', { ...who, details });
}

let folder: string;
let database: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portcullis-events-'));
  database = join(folder, 'portcullis.db');
  const store = await openStore(database);
  await store.appendEvents(EVENTS);
  await store.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const show = (...words: readonly string[]) =>
  runHere(['events', '--json', ...words], { environment: { PORTCULLIS_DATABASE: database }, folder });

describe('portcullis events', () => {
  it('searches less at once where the store needs longer than it may, and fails where even that is too much', async () => {
    const store = await openStore(database);
    const find = async (longest: number) => {
      const slow: SearchedStore = {
        ...store,
        searchEvents: (one, limit) =>
          Date.now() - Number.parseInt(one.from.slice(0, 9), 36) > longest && one.before === '~'
            ? Promise.reject(new Error('timeout'))
            : store.searchEvents(one, limit),
      };
      return (await listEvents(slow, { user: 'user_ada' }, '', 10, Infinity)).events;
    };
    expect(await find(1_800_000)).toHaveLength(2);
    await expect(find(-1)).rejects.toThrow('timeout');
    await store.close();
  });

  it.each([
    ['--type token.*', ['token.issued']],
    ['--grant grant_1', ['token.issued']],
    ['--client inspector', ['token.issued', 'read_file', 'delete_file']],
    ['--user user_ada', ['token.issued', 'read_file']],
    ['--type call.finished --user user_ada', ['read_file']],
    ['--server /files', ['read_file', 'delete_file']],
    ['--server /files --tool delete_file', ['delete_file']],
    ['--decision denied', ['delete_file']],
    ['--outcome refused', ['delete_file']],
    ['--client agent --last 1', ['read_file']],
  ])('finds the events with %s, however many came later', async (words, expected) => {
    const { output } = await show(...words.split(' '));
    const shown = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(shown.map(({ tool, type }) => tool ?? type)).toEqual(expected);
  });

  it.each([
    [['--type', 'token.isued'], 'There is no event "token.isued": did you mean token.issued?'],
    [['--type', 'tokens.*'], 'There is no event "tokens.*"'],
    [['--user', 'unknown@example.com'], 'There is no account for unknown@example.com'],
    [['--user', 'unknown'], 'There is no account for unknown'],
  ])('refuses %j, which could match nothing', async (words, reason) => {
    expect(await show(...words)).toMatchObject({
      code: 1,
      output: '',
      errors: expect.stringContaining(reason),
    });
  });

  it('shows the latest of those that match', async () => {
    const { output } = await show('--client', 'agent', '--last', '3');
    expect(output.trimEnd().split('\n')).toHaveLength(3);
  });

  it('shows none from before a time, and says that none matches', async () => {
    const { output } = await show('--tool', 'delete_file', '--since', '2h');
    expect(output).toContain('delete_file');
    expect(await show('--tool', 'delete_file', '--since', '30m')).toMatchObject({
      code: 0,
      output: '',
      errors: 'portcullis: no event matches\n',
    });
    expect((await show('--since', 'yesterday')).errors).toContain('2026-03-01T04:00Z');
  });
});
