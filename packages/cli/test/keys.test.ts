/** `portcullis keys` on a real store, beside a running server. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { runHere } from './support/in-process.ts';

const run = (folder: string, ...args: readonly string[]) =>
  runHere(['keys', ...args], { environment: {}, folder });

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-keys-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('beside a running server', () => {
  let portcullis: PortcullisHere;
  let location: readonly string[];
  let keyFile: string;
  beforeAll(async () => {
    portcullis = await startPortcullisHere();
    keyFile = portcullis.database.replace('portcullis.db', 'portcullis.key');
    location = ['--database', portcullis.database, '--key-file', keyFile];
  });
  afterAll(() => portcullis.stop());

  const list = async () => JSON.parse((await run(folder, 'list', '--json', ...location)).output);
  const published = async () =>
    ((await (await fetch(`${portcullis.url}/jwks`)).json()) as { keys: { kid: string }[] }).keys.map(
      ({ kid }) => kid,
    );

  it('`keys list` closes a key file that others could read, and warns', async () => {
    chmodSync(keyFile, 0o644);
    const { code, errors } = await run(folder, 'list', ...location);
    expect([code, errors]).toEqual([
      0,
      expect.stringContaining('which every user of this computer could read'),
    ]);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect((await run(folder, 'list', ...location)).errors).toBe('');
  });

  it('`keys list` does without what only the server has: its first password and its TLS key', async () => {
    const settings = { bootstrapEmail: 'ada@example.com', tlsCert: 'server.crt' };
    writeFileSync(join(folder, 'served.json'), JSON.stringify(settings));
    const { code, output } = await run(folder, 'list', '--config', 'served.json', ...location);
    expect([code, output]).toEqual([0, expect.stringMatching(/^signing {2}key_/)]);
    const checked = await runHere(['config', 'check', 'served.json'], { environment: {}, folder });
    expect(checked.errors).toContain('bootstrapEmail (in served.json) needs PORTCULLIS_BOOTSTRAP_PASSWORD');
    expect(checked.errors).toContain('tlsCert (in served.json) needs PORTCULLIS_TLS_KEY');
  });

  it('`keys list`, `rotate` and `reencrypt` work beside a running server', async () => {
    const [first] = await list();
    expect(first).toMatchObject({ state: 'signing', algorithm: 'ES256', canDecrypt: true });
    expect(await published()).toEqual([first.id]);

    const { code, output, errors } = await run(folder, 'rotate', ...location);
    expect([code, errors]).toEqual([0, '']);
    expect(output).toMatch(/^next {5}key_\S{22} {2}ES256 {2}signs from \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n/);
    expect(output).toMatch(new RegExp(`^signing {2}${first.id} `, 'm'));

    const newKeyFile = join(folder, 'new.key');
    const reencrypted = await run(folder, 'reencrypt', '--new-key-file', newKeyFile, ...location);
    expect(reencrypted).toMatchObject({ code: 0, errors: '' });
    expect(reencrypted.output).toContain('re-encrypted 2 keys under the new master key in');
    expect(statSync(newKeyFile).mode & 0o777).toBe(0o600);
    expect(reencrypted.output).not.toContain(readFileSync(newKeyFile, 'utf8').trim());
    expect(await published()).toContain(first.id);

    expect((await list()).map(({ canDecrypt }: { canDecrypt: boolean }) => canDecrypt)).toEqual([
      false,
      false,
    ]);
    const refused = await run(folder, 'rotate', ...location);
    expect(refused).toMatchObject({ code: 1, output: '' });
    expect(refused.errors).toMatch(
      /^portcullis: PORTCULLIS_KEY_FILE \(--key-file\): masterKey does not decrypt key_/,
    );
    const newLocation = ['--database', portcullis.database, '--key-file', newKeyFile];
    expect(await run(folder, 'rotate', '--compromised', ...newLocation)).toMatchObject({ code: 0 });
    const after = JSON.parse((await run(folder, 'list', '--json', ...newLocation)).output);
    expect(after).toMatchObject([{ state: 'signing', canDecrypt: true }]);
  });
});

describe('a lost master key', () => {
  it('a lost master key keeps the server from starting until `keys discard --yes` removes the keys it encrypted', async () => {
    const portcullis = await startPortcullisHere();
    const keyFile = portcullis.database.replace('portcullis.db', 'portcullis.key');
    const location = ['--database', portcullis.database, '--key-file', keyFile];
    const before = JSON.parse((await run(folder, 'list', '--json', ...location)).output);
    expect(await run(folder, 'discard', '--yes', ...location)).toMatchObject({
      code: 0,
      output: expect.stringContaining('nothing to discard'),
    });
    rmSync(keyFile);
    await expect(portcullis.restart()).rejects.toThrow(/KEY_FILE is \S+, which is missing.*keys discard/s);
    expect(existsSync(keyFile)).toBe(false);

    const asked = await run(folder, 'discard', ...location);
    expect([asked.code, asked.output]).toEqual([1, '']);
    expect(asked.errors).toContain(`cannot decrypt ${before[0].id}. Look for the right one first; --yes`);
    expect((await run(folder, 'discard', '--yes', ...location)).output).toBe(
      'Discarded one key. The next start creates new ones.\n',
    );
    await portcullis.restart();
    const after = JSON.parse((await run(folder, 'list', '--json', ...location)).output);
    expect(after).toMatchObject([{ state: 'signing', canDecrypt: true }]);
    expect(after[0].id).not.toBe(before[0].id);
    await portcullis.stop();
  });
});

describe('without a database', () => {
  it.each([
    [['list', '--key-file', 'nowhere.key'], /^portcullis: PORTCULLIS_KEY_FILE \(--key-file\) is nowhere\.key, which cannot be used/],
    [['list', '--key', 'A'.repeat(43), '--database', 'nowhere.db'], /^portcullis: PORTCULLIS_DATABASE \(--database\) is nowhere\.db, where there is no database/],
    [['list', '--key', 'A'.repeat(43), '--database', ':memory:'], /^portcullis: PORTCULLIS_DATABASE \(--database\) is :memory:, which no other process can see/],
    [['reencrypt', '--key', 'A'.repeat(43)], /^portcullis: required option '--new-key-file <file>' not specified/],
  ])('`keys` %j creates neither key nor database and names the setting', async (args, says) => {
    const { code, output, errors } = await run(folder, ...args);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toMatch(says);
    expect(existsSync(join(folder, 'data'))).toBe(false);
    expect(existsSync(join(folder, 'nowhere.db'))).toBe(false);
  }); // biome-ignore format: a table
});
