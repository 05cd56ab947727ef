/** `portcullis keys` on real stores, beside a server that runs. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Portcullis, startPortcullis } from '../../../tests/support/portcullis.ts';
import { runHere } from './support/in-process.ts';

const run = (folder: string, ...args: readonly string[]) =>
  runHere(['keys', ...args], { environment: {}, folder });

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-keys-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('beside a server', () => {
  let portcullis: Portcullis;
  let place: readonly string[];
  let keyFile: string;
  beforeAll(async () => {
    portcullis = await startPortcullis();
    keyFile = portcullis.database.replace('portcullis.db', 'portcullis.key');
    place = ['--database', portcullis.database, '--key-file', keyFile];
  });
  afterAll(() => portcullis.stop());

  const list = async () => JSON.parse((await run(folder, 'list', '--json', ...place)).output);
  const published = async () =>
    ((await (await fetch(`${portcullis.url}/jwks`)).json()) as { keys: { kid: string }[] }).keys.map(
      ({ kid }) => kid,
    );

  it('lists, rotates and seals anew, and the server goes on, also over a restart', async () => {
    const [first] = await list();
    expect(first).toMatchObject({ state: 'signing', algorithm: 'ES256', canDecrypt: true });
    expect(await published()).toEqual([first.id]);

    const { code, output, errors } = await run(folder, 'rotate', ...place);
    expect([code, errors]).toEqual([0, '']);
    expect(output).toMatch(/^next {5}key_\S{22} {2}ES256 {2}signs from \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n/);
    expect(output).toMatch(new RegExp(`^signing {2}${first.id} `, 'm'));

    const newKeyFile = join(folder, 'new.key');
    const resealed = await run(folder, 'reseal', '--new-key-file', newKeyFile, ...place);
    expect(resealed).toMatchObject({ code: 0, errors: '' });
    expect(resealed.output).toContain('2 keys are sealed under the new sealing key, in');
    expect(statSync(newKeyFile).mode & 0o777).toBe(0o600);
    expect(resealed.output).not.toContain(readFileSync(newKeyFile, 'utf8').trim());
    expect(await published()).toContain(first.id);

    expect((await list()).map(({ canDecrypt }: { canDecrypt: boolean }) => canDecrypt)).toEqual([
      false,
      false,
    ]);
    const refused = await run(folder, 'rotate', ...place);
    expect(refused).toMatchObject({ code: 1, output: '' });
    expect(refused.errors).toMatch(
      /^portcullis: PORTCULLIS_KEY_FILE \(--key-file\): masterKey does not decrypt key_/,
    );
    const newPlace = ['--database', portcullis.database, '--key-file', newKeyFile];
    expect(await run(folder, 'rotate', '--compromised', ...newPlace)).toMatchObject({ code: 0 });
    const after = JSON.parse((await run(folder, 'list', '--json', ...newPlace)).output);
    expect(after).toMatchObject([{ state: 'signing', canDecrypt: true }]);
  });
});

describe('a sealing key that is lost', () => {
  it('keeps the server from starting, until the keys that it opened are given up', async () => {
    const portcullis = await startPortcullis();
    const keyFile = portcullis.database.replace('portcullis.db', 'portcullis.key');
    const place = ['--database', portcullis.database, '--key-file', keyFile];
    const before = JSON.parse((await run(folder, 'list', '--json', ...place)).output);
    expect(await run(folder, 'discard', '--yes', ...place)).toMatchObject({
      code: 0,
      output: expect.stringContaining('nothing is to be given up'),
    });
    rmSync(keyFile);
    await expect(portcullis.restart()).rejects.toThrow(/KEY_FILE is \S+, which is missing.*keys discard/s);
    expect(existsSync(keyFile)).toBe(false);

    const asked = await run(folder, 'discard', ...place);
    expect([asked.code, asked.output]).toEqual([1, '']);
    expect(asked.errors).toContain(`does not open ${before[0].id}. Look for the right one first; --yes`);
    expect((await run(folder, 'discard', '--yes', ...place)).output).toBe(
      'One key is gone. The next start makes new ones.\n',
    );
    await portcullis.restart();
    const after = JSON.parse((await run(folder, 'list', '--json', ...place)).output);
    expect(after).toMatchObject([{ state: 'signing', canDecrypt: true }]);
    expect(after[0].id).not.toBe(before[0].id);
    await portcullis.stop();
  });
});

describe('where nothing is', () => {
  it.each([
    [['list', '--key-file', 'nowhere.key'], /^portcullis: PORTCULLIS_KEY_FILE \(--key-file\) is nowhere\.key, which cannot be used/],
    [['list', '--key', 'A'.repeat(43), '--database', 'nowhere.db'], /^portcullis: PORTCULLIS_DATABASE \(--database\) is nowhere\.db, where no database is/],
    [['list', '--key', 'A'.repeat(43), '--database', ':memory:'], /^portcullis: PORTCULLIS_DATABASE \(--database\) is :memory:, which no other process can see/],
    [['reseal', '--key', 'A'.repeat(43)], /^portcullis: required option '--new-key-file <file>' not specified/],
  ])('%j makes nothing and says so', async (args, says) => {
    const { code, output, errors } = await run(folder, ...args);
    expect([code, output]).toEqual([1, '']);
    expect(errors).toMatch(says);
    expect(existsSync(join(folder, 'data'))).toBe(false);
    expect(existsSync(join(folder, 'nowhere.db'))).toBe(false);
  }); // biome-ignore format: a table
});
