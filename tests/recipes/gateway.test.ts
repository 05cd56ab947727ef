/** The configurations of examples/gateway are valid, and docs/gateway.md links each; it shows every kind of credential. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';

const page = await readFile(new URL('../../docs/gateway.md', import.meta.url), 'utf8');

const EXAMPLES = new URL('../../examples/gateway/', import.meta.url);
const examples = await readdir(EXAMPLES);

/** Every variable that a configuration names has a value. */
const environmentOf = (text: string) =>
  Object.fromEntries([...text.matchAll(/"variable": "(\w+)"/g)].map(([, name = '']) => [name, 'a secret']));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portcullis-gateway-'));
  await mkdir(join(folder, 'secrets'));
  for (const name of ['key', 'reports']) await writeFile(join(folder, 'secrets', name), 'secret');
});
afterAll(() => rm(folder, { recursive: true }));

describe('the configurations of docs/gateway.md', () => {
  it('show every kind of credential', () => {
    const kinds = [...page.matchAll(/"as": "([a-z]+)"/g)].map(([, kind]) => kind);
    expect(new Set(kinds)).toEqual(new Set(['header', 'application', 'user', 'exchange', 'enterprise']));
  });
});

describe('the files of examples/gateway', () => {
  it.each(examples)('%s is valid, and the page links it', async (name) => {
    await expectNoIssues(name, await readFile(new URL(name, EXAMPLES), 'utf8'));
    expect(page).toContain(`(../examples/gateway/${name})`);
  });
});

describe('a limit of a scope with an unknown claim', () => {
  it('is reported once, under the name of its setting', async () => {
    const scopes = { edit: { description: 'Edit', claims: { phone: ['1'] } } };
    const servers = [{ path: '/wiki', backend: { url: 'http://127.0.0.1:1/mcp' }, scopes }];
    await writeFile(join(folder, 'unknown-claim.json'), JSON.stringify({ servers }));
    const { errors } = await runHere(['config', 'check', 'unknown-claim.json'], { environment: {}, folder });
    expect(errors.trim().split('\n')).toEqual([
      expect.stringContaining('servers.0.scopes.edit.claims.phone'),
    ]);
  });
});

async function expectNoIssues(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
  const environment = environmentOf(text);
  expect(await runHere(['config', 'check', name], { environment, folder })).toEqual({
    code: 0,
    output: `${name}: no issues.\n`,
    errors: '',
  });
}
