/** `portcullis config`: editors complete a configuration file by its JSON Schema, and a file is checked without a start. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isInFile, settingNames } from '../src/settings/schema.ts';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (words: readonly string[], environment: Record<string, string> = {}) =>
  runHere(['config', ...words], { environment, folder });

describe('config schema', () => {
  it('`config schema` prints a JSON Schema that describes every setting and rejects other keys', async () => {
    const { code, output } = await run(['schema']);
    const schema = JSON.parse(output);
    expect(code).toBe(0);
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(Object.keys(schema.properties).toSorted()).toEqual(
      ['$schema', ...settingNames.filter(isInFile)].toSorted(),
    );
    for (const name of settingNames.filter(isInFile)) {
      expect(schema.properties[name].description, name).toMatch(/\w/);
    }
    expect(schema.properties.port).toMatchObject({ default: 8484, maximum: 65_535 });
    expect(schema.properties.lifetimes.properties.accessToken).toMatchObject({ default: 600 });
    expect(schema.properties.resources.items.required).toEqual(['resource', 'name', 'scopes']);
  });

  it('the JSON Schema allows references for secrets and a file name for the logo', async () => {
    const { properties } = JSON.parse((await run(['schema'])).output);
    const { client_secret } = properties.clients.items.properties;
    expect(client_secret.anyOf).toMatchObject([
      { type: 'string' },
      { required: ['file'] },
      { required: ['variable'] },
    ]);
    expect(properties.metricsToken.anyOf).toHaveLength(3);
    expect(properties.brand.properties.logo).toMatchObject({ type: 'string' });
  });
});

describe('config check', () => {
  const resources = [{ resource: 'https://mcp.example/notes', name: 'Notes', scopes: { read: 'Read' } }];

  it('`config check` accepts a valid file, which may name its schema', async () => {
    writeFileSync(join(folder, 'good.json'), JSON.stringify({ $schema: './schema.json', resources }));
    const expected = { code: 0, output: 'good.json: no issues.\n' };
    expect(await run(['check', 'good.json'])).toMatchObject(expected);
    expect(await run(['check'], { PORTCULLIS_CONFIG: 'good.json' })).toMatchObject(expected);
  });

  it('`config check` names the file as it was given, without an option that was not', async () => {
    writeFileSync(join(folder, 'empty.json'), '');
    const { code, errors } = await run(['check', 'empty.json']);
    expect([code, errors]).toEqual([1, 'portcullis: empty.json is empty\n']);
    expect((await run(['check', 'no.json'])).errors).toMatch(/^portcullis: no\.json cannot be read: /);
  });

  it('`config check` prints every issue of an invalid file and exits with 1', async () => {
    writeFileSync(join(folder, 'bad.json'), JSON.stringify({ resources, port: 'x', keyfile: 'y' }));
    const { code, output, errors } = await run(['check', 'bad.json']);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toContain('"keyfile" (in bad.json): unknown key; did you mean keyFile?');
    expect(errors).toContain('port (in bad.json) must be a whole number from 0 to 65535');
  });

  it.each([
    ['/metrics', {}, 'hide /metrics'],
    ['/readyz', {}, 'hide /readyz'],
    ['/.well-known', {}, 'hide /.well-known'],
    ['/admin/files', { admin: {} }, 'below /admin/*'],
  ])(
    '`config check` rejects a server at the path %s of the program, which startup rejects',
    async (path, settings, issue) => {
      const check = async (at: string) => {
        const servers = [{ path: at, backend: { url: 'http://127.0.0.1:9/mcp' } }];
        writeFileSync(join(folder, 'paths.json'), JSON.stringify({ servers, ...settings }));
        return run(['check', 'paths.json']);
      };
      const { code, errors } = await check(path);
      expect([code, errors]).toEqual([1, expect.stringContaining(`servers.0.path is ${path}, which`)]);
      expect(errors).toContain(issue);
      expect((await check('/files')).code).toBe(0);
    },
  );

  it.each([
    {},
    { port: 8799 },
    { port: 0 },
    { publicUrl: 'https://as.example', trustedProxies: ['127.0.0.1'] },
  ])(
    '[AS-REDIR-21] `config check` accepts loopback redirect URIs without a port, with %j',
    async (settings) => {
      const redirect_uris = ['http://127.0.0.1/cb', 'http://localhost/cb', 'http://[::1]/cb'];
      const clients = [{ client_id: 'native', redirect_uris }];
      writeFileSync(join(folder, 'loopback.json'), JSON.stringify({ resources, clients, ...settings }));
      const result = await run(['check', 'loopback.json']);
      expect(result).toMatchObject({ code: 0, output: 'loopback.json: no issues.\n' });
    },
  );

  it.each([
    [{}, 'http://127.0.0.1:8484/cb'],
    [{ port: 8799 }, 'http://localhost:8799/cb'],
    [{ port: 80 }, 'http://[::1]/cb'],
  ])('`config check` with %j refuses the redirect URI %s on the server itself', async (settings, uri) => {
    const clients = [{ client_id: 'native', redirect_uris: [uri] }];
    writeFileSync(join(folder, 'own.json'), JSON.stringify({ resources, clients, ...settings }));
    const { code, errors } = await run(['check', 'own.json']);
    expect(code).toBe(1);
    expect(errors).toContain(
      'clients.0.redirect_uris.0 (in own.json) must not be on this authorization server',
    );
  });
});
