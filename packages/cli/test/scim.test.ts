/** `portcullis scim tokens`, and the groups that an identity provider provisions with one, in the real program. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from './support/in-process.ts';

const CONFIGURATION = {
  publicUrl: 'https://auth.example.com',
  identityProviders: [
    {
      id: 'acme',
      name: 'Acme',
      kind: { issuer: 'https://sso.example.com' },
      clientId: 'portcullis',
      scopes: ['openid'],
      scim: {},
    },
  ],
};

it('creates, lists and revokes the tokens of a configured connection', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'portcullis.json'), JSON.stringify(CONFIGURATION));
  const environment = { PORTCULLIS_DATABASE: join(folder, 'portcullis.db') };
  const run = (...args: readonly string[]) =>
    runHere(['scim', 'tokens', ...args, '--config', 'portcullis.json'], { environment, folder });
  await runHere(['migrate'], { environment, folder });
  expect(await run('create', 'globex')).toMatchObject({
    code: 1,
    errors: expect.stringContaining(
      'No identity provider "globex" has scim in the configuration: there is acme',
    ),
  });
  const { output } = await run('create', 'acme', '--note', 'Acme app');
  expect(output).toMatch(/\nhttps:\/\/auth\.example\.com\/scim\/v2\n[\w-]{43}\n$/);
  const listed = await run('list');
  expect(listed.output).toMatch(/^scim_\S+\s+acme\s+until \d{4}-\d\d-\d\d\s+Acme app\n$/);
  expect(listed.output).not.toContain(output.trim().split('\n').at(-1));
  const [id = ''] = listed.output.split(/\s/);
  expect((await run('revoke', id)).output).toBe(`The SCIM token ${id} is revoked.\n`);
  expect((await run('revoke', id)).code).toBe(1);
  expect((await run('list')).output).toBe('There are no SCIM tokens.\n');
});
