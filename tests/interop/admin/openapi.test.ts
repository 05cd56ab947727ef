/** The OpenAPI document of the admin API, read by foreign tools: a linter, and a client that is made of it. */
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, owner, startInstallation } from '../../../packages/admin/test/installation.ts';
import { installPackages } from '../../support/install.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing !== undefined) console.warn(`skipped: ${missing}`);

interface Listed {
  readonly items: readonly { readonly id: string }[];
}

/** The methods of a tag, by `operationId`. */
type Methods = Readonly<Record<string, (...given: readonly object[]) => Promise<{ readonly body: unknown }>>>;

let t: Installation;
beforeAll(async () => {
  t = await startInstallation();
});
afterAll(() => t?.stop());

describe.skipIf(missing)('the OpenAPI document of the admin API', () => {
  it('has no finding of the recommended rules of Redocly, but that its address is local', async () => {
    const file = join(t.configHome, 'openapi.json');
    await writeFile(file, await (await fetch(`${t.api}/openapi.json`)).text());
    const cli = join(modules, '@redocly/cli/bin/cli.js');
    const words = [
      'lint',
      '--extends=recommended',
      '--skip-rule=no-server-example.com',
      '--format=json',
      file,
    ];
    const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout } = await promisify(execFile)(process.execPath, [cli, ...words], { env: environment });
    const { problems } = JSON.parse(stdout) as { readonly problems: readonly { readonly message: string }[] };
    expect(problems.map(({ message }) => message)).toEqual([]);
  });

  it('makes a client that lists users, changes one, and reads the problem of a refusal', async () => {
    const { default: SwaggerClient } = await import(
      pathToFileURL(join(modules, 'swagger-client/lib/commonjs.js')).href
    );
    const token = await t.machineToken('ops');
    const client = await SwaggerClient({
      url: `${t.api}/openapi.json`,
      requestInterceptor(request: { readonly headers: Record<string, string> }) {
        request.headers['authorization'] = `Bearer ${token}`;
        return request;
      },
    });
    const { Users: users = {} } = client.apis as Readonly<Record<string, Methods>>;
    const use = async (method: string, ...given: readonly object[]) =>
      (await users[method]?.(...given))?.body;
    const listed = (await use('listUsers', { limit: 10 })) as Listed;
    expect(listed).toMatchObject({ items: [{ email: owner.email, kind: 'local' }] });
    const [{ id } = { id: '' }] = listed.items;
    const body = { requestBody: { name: 'Ada Lovelace', reason: 'as she signs' } };
    expect(await use('updateUser', { userId: id }, body)).toMatchObject({ id, name: 'Ada Lovelace' });
    await expect(use('showUser', { userId: 'user_unknown' })).rejects.toMatchObject({
      response: { status: 404 },
    });
  });

  it('makes types that accept what the API accepts, and nothing else', async () => {
    const run = async (tool: string, ...words: readonly string[]) =>
      promisify(execFile)(process.execPath, [join(modules, tool), ...words], { cwd: t.configHome });
    await run('openapi-typescript/bin/cli.js', `${t.api}/openapi.json`, '-o', 'admin.d.ts');
    await symlink(modules, join(t.configHome, 'node_modules'));
    const write = (file: string, query: string) => {
      const program = `import createClient from 'openapi-fetch';
        import type { paths } from './admin.d.ts';
        const client = createClient<paths>({ baseUrl: '' });
        const { data } = await client.GET('/users', { params: { query: ${query} } });
        export const ids: string[] = data?.items.map(({ id }) => id) ?? [];`;
      return writeFile(join(t.configHome, file), program);
    };
    await write('right.mts', '{ limit: 10 }');
    await write('wrong.mts', '{ limti: 10 }');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--allowImportingTsExtensions'];
    // A version that many users have, and not the compiler of this clone.
    const messages = await run('typescript/bin/tsc', ...options, 'right.mts', 'wrong.mts').then(
      () => '',
      ({ stdout }: { readonly stdout: string }) => stdout,
    );
    expect(messages).toContain("'limti' does not exist");
    expect(messages.match(/^\S.*$/gm)).toEqual([expect.stringMatching(/^wrong\.mts/)]);
  });
});
