/** docs/gateway.md: each of its configurations is valid as it is written. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';

const page = await readFile(new URL('../../docs/gateway.md', import.meta.url), 'utf8');
const configurations = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text);

const environment = { SEARCH_KEY: 'k', ORDERS_SECRET: 's', TICKETS_SECRET: 's', IDP_SECRET: 's' };

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

  it.each(configurations.map((text, index) => [index + 1, text] as const))(
    'number %i is valid',
    async (index, text) => {
      await writeFile(join(folder, `${index}.json`), text);
      expect(await runHere(['config', 'check', `${index}.json`], { environment, folder })).toEqual({
        code: 0,
        output: `${index}.json: no issues.\n`,
        errors: '',
      });
    },
  );
});
