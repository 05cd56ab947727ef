/** The folder of the database: who can replace files in it. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStorage } from '../src/server/storage.ts';
import { resolveSettings } from '../src/settings/resolve.ts';
import { titleOf } from '../src/settings/schema.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = async () => {
  const settings = await resolveSettings({ flags: {}, environment: {}, folder });
  const { store } = await openStorage(settings, folder, titleOf);
  await store.close();
};

describe('the data folder', () => {
  it('is created for its owner only', async () => {
    await open();
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
  });

  it('is refused, unchanged, if every user can replace files in it, and accepted after chmod 700', async () => {
    const data = join(folder, 'data');
    mkdirSync(data);
    chmodSync(data, 0o777);
    await expect(open()).rejects.toThrow(
      /is data\/portcullis\.db, which cannot be used: every user of this computer can replace files in .*data: chmod 700 it$/,
    );
    expect([readdirSync(data), statSync(data).mode & 0o777]).toEqual([[], 0o777]);
    for (const mode of [0o700, 0o755, 0o1777]) {
      chmodSync(data, mode);
      await open();
    }
  });
});
