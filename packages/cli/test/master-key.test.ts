/** The master key file: created once, readable by its owner alone. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SigningKeyRecord } from '@portcullis/authorization-server/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FoundKey, findMasterKey } from '../src/server/master-key.ts';
import { resolveSettings } from '../src/settings/resolve.ts';
import type { SettingName } from '../src/settings/schema.ts';

const COMMAND = 'npm run -s portcullis --';

/** A store without keys. */
const NOTHING_ENCRYPTED = { listSigningKeys: async () => [] };

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-key-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function find(flags: Partial<Record<SettingName, string>>): Promise<FoundKey> {
  const settings = await resolveSettings({ flags, environment: {}, folder });
  return findMasterKey(settings, { folder, command: COMMAND }, NOTHING_ENCRYPTED);
}

describe('a key file', () => {
  it('a key file is created with 32 random bytes and mode 0600, in a folder of mode 0700', async () => {
    const { bytes, warning } = await find({});
    expect(bytes).toHaveLength(32);
    expect(warning).toBeNull();
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'data/portcullis.key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, 'data/portcullis.key'), 'utf8')).toBe(
      `${Buffer.from(bytes).toString('base64url')}\n`,
    );
  });

  it('an existing key file is read and left unchanged', async () => {
    const first = await find({ keyFile: 'my.key' });
    const before = readFileSync(join(folder, 'my.key'), 'utf8');
    expect((await find({ keyFile: 'my.key' })).bytes).toEqual(first.bytes);
    expect(readFileSync(join(folder, 'my.key'), 'utf8')).toBe(before);
  });

  it('a key file is created only once by concurrent starts', async () => {
    const found = await Promise.all(Array.from({ length: 20 }, () => find({})));
    expect(new Set(found.map(({ bytes }) => Buffer.from(bytes).toString('hex'))).size).toBe(1);
    expect(readdirSync(join(folder, 'data'))).toEqual(['portcullis.key']);
  });

  it('a key file is rejected if others can write it, and closed to others who can read it, with a warning', async () => {
    const { bytes } = await find({ keyFile: 'my.key' });
    chmodSync(join(folder, 'my.key'), 0o620);
    await expect(find({ keyFile: 'my.key' })).rejects.toThrow(
      'PORTCULLIS_KEY_FILE (--key-file) is my.key, which others can write: chmod 600 it',
    );
    chmodSync(join(folder, 'my.key'), 0o644);
    expect(await find({ keyFile: 'my.key' })).toMatchObject({
      bytes,
      warning: expect.stringMatching(
        /^PORTCULLIS_KEY_FILE \(--key-file\) is my\.key, which every user .* could read\. This access was removed/,
      ),
    });
    expect(statSync(join(folder, 'my.key')).mode & 0o777).toBe(0o600);
    expect((await find({ keyFile: 'my.key' })).warning).toBeNull();
  });

  it('a key file without a key is rejected, neither changed nor shown', async () => {
    writeFileSync(join(folder, 'my.key'), 'not a key', { mode: 0o600 });
    await expect(find({ keyFile: 'my.key' })).rejects.toThrow(
      /^PORTCULLIS_KEY_FILE \(--key-file\) is my\.key, which must be 32 random bytes/,
    );
    expect(readFileSync(join(folder, 'my.key'), 'utf8')).toBe('not a key');
  });

  it('a key file that cannot be created is rejected with one line', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(find({ keyFile: 'file/my.key' })).rejects.toThrow(
      /^PORTCULLIS_KEY_FILE \(--key-file\) is file\/my\.key, which cannot be used: ENOTDIR/,
    );
  });
});

describe('a lost key file', () => {
  it('a lost key file is not replaced while something is encrypted: the start fails and writes nothing', async () => {
    const settings = await resolveSettings({ flags: { keyFile: 'my.key' }, environment: {}, folder });
    const encrypted = { listSigningKeys: async () => [{} as SigningKeyRecord] };
    await expect(findMasterKey(settings, { folder, command: COMMAND }, encrypted)).rejects.toThrow(
      /^PORTCULLIS_KEY_FILE \(--key-file\) is my\.key, which is missing, though .* restore it from your backup.*, npm run -s portcullis -- keys discard /,
    );
    expect(readdirSync(folder)).toEqual([]);
    const { bytes } = await find({ keyFile: 'my.key' });
    expect((await findMasterKey(settings, { folder, command: COMMAND }, encrypted)).bytes).toEqual(bytes);
  });
});

describe('without a file', () => {
  it('a key in the settings is used without a file', async () => {
    const key = Buffer.alloc(32, 7);
    expect(Buffer.from((await find({ key: key.toString('base64url') })).bytes)).toEqual(key);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('an in-memory store gets a temporary key without a file', async () => {
    const [first, second] = [await find({ database: ':memory:' }), await find({ database: ':memory:' })];
    expect(first.bytes).not.toEqual(second.bytes);
    expect(readdirSync(folder)).toEqual([]);
  });
});
