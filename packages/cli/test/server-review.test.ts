/** `portcullis servers review`, `approve` and `reject` on a real store. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@portcullis/store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { formatDifference } from '../src/admin/server-review.ts';
import { runHere } from './support/in-process.ts';

let folder: string;
let database: string;

const LIST = { server: '/files', backend: 'http://127.0.0.1:3000/mcp', kind: 'tool' } as const;
const run = (...args: readonly string[]) =>
  runHere(['servers', ...args, '--database', database], { environment: {}, folder });

const open = async <T>(task: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>): Promise<T> => {
  const store = await openStore(database);
  try {
    return await task(store);
  } finally {
    await store.close();
  }
};

const definition = (name: string, description: string) =>
  JSON.stringify({ name, description, inputSchema: { type: 'object' } });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-servers-'));
  database = join(folder, 'portcullis.db');
  await open(async (store) => {
    const first = { name: 'read', hash: 'one', definition: definition('read', 'Reads a file') };
    await store.saveFirstPins(LIST, [first], 1000);
    const changed = {
      name: 'read',
      hash: 'two',
      definition: definition('read', 'Reads\u202e a\u200b file\u2800'),
    };
    await store.savePendingPin(LIST, changed, 2000);
    const added = { name: 'purge', hash: 'three', definition: definition('purge', 'Deletes all') };
    await store.savePendingPin(LIST, added, 2000);
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

const pins = () => open((store) => store.findPins(LIST));
const statuses = async () => Object.fromEntries((await pins()).map(({ hash, status }) => [hash, status]));

it('`servers review` shows what differs, with invisible and bidirectional characters escaped', async () => {
  const { code, output, errors } = await run('review');
  expect([code, errors]).toEqual([0, '']);
  expect(output).toContain('/files "read": changed since 1970-01-01T00:33:20Z');
  expect(output).toContain(
    '-   "description": "Reads a file",\n+   "description": "Reads\\u202e a\\u200b file',
  );
  expect(output).toContain('/files "purge": new since');
  expect(output).toContain('+   "name": "purge"');
  const [first] = JSON.parse((await run('review', '--json')).output);
  expect(first).toMatchObject({ path: '/files', tool: 'purge', state: 'new', approved: null });
});

it('`servers approve` approves the tools that it names, and records it', async () => {
  const { code, output } = await run('approve', '/files', 'read');
  expect([code, output]).toEqual([0, 'Approved: 1.\n']);
  expect(await statuses()).toEqual({ one: 'approved', two: 'approved', three: 'pending' });
});

it('`servers reject --all` rejects what waits, and keeps what was approved', async () => {
  expect((await run('reject', '/files', '--all')).code).toBe(0);
  expect(await statuses()).toEqual({ one: 'approved', two: 'rejected', three: 'rejected' });
  expect((await run('review')).output).toBe('No tools wait for approval.\n');
});

it.each([
  [
    ['approve', '/files'],
    'Name the tools of /files to approve, or use --all for all that wait: "purge", "read"',
  ],
  [['reject', '/files'], 'Name the tools of /files to reject, or use --all'],
  [['approve', '/files', 'read', '--all'], 'Name tools, or use --all: not both'],
  [['approve', '/files', 'read', 'other'], 'No tool "other" of /files waits'],
  [['approve', '/elsewhere', '--all'], 'No tool of /elsewhere waits'],
])('`servers %j` changes nothing and says why', async (args, message) => {
  const before = await pins();
  const { code, errors } = await run(...args);
  expect(code).toBe(1);
  expect(errors).toContain(message);
  expect(await pins()).toEqual(before);
});

it('`servers approve` names the servers where the configuration has none at the path', async () => {
  const servers = [{ path: '/files', backend: { url: 'http://127.0.0.1:3000/mcp' } }];
  writeFileSync(join(folder, 'c.json'), JSON.stringify({ servers }));
  const at = (path: string) => run('approve', path, '--all', '--config', 'c.json');
  const { code, errors } = await at('/nosuch');
  expect([code, errors]).toEqual([1, 'portcullis: There is no server at /nosuch; there are /files\n']);
  expect(await statuses()).toEqual({ one: 'approved', two: 'pending', three: 'pending' });
  expect((await at('/files')).code).toBe(0);
});

it('`servers reject` decides on tools of a server that was removed from the configuration', async () => {
  const servers = [{ path: '/other', backend: { url: 'http://127.0.0.1:3000/mcp' } }];
  writeFileSync(join(folder, 'c.json'), JSON.stringify({ servers }));
  const { code } = await run('reject', '/files', '--all', '--config', 'c.json');
  expect(code).toBe(0);
  expect(Object.values(await statuses())).not.toContain('pending');
});

it('a difference is coloured line by line', () => {
  const plain = (text: string) => text;
  const styles = { good: (text: string) => `<${text}>`, bad: (text: string) => `[${text}]`, faint: plain };
  const pin = { approvedDefinition: '{"a":1,"b":2}', definition: '{"a":1,"b":3}' };
  expect(formatDifference(pin, styles)).toBe('  {\n    "a": 1,\n[-   "b": 2]\n<+   "b": 3>\n  }\n');
});
