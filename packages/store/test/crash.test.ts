/** A process that is killed leaves complete operations only, and every one that it confirmed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { postgresDatabases, queryPostgres, sqliteFiles } from './databases.ts';

const SPENT_WITHOUT_GRANT = `SELECT c.hash FROM authorization_codes c LEFT JOIN grants g ON g.id = c.grant_id
  WHERE (c.consumed_at IS NULL) <> (g.id IS NULL)`;
const GRANT_WITHOUT_TOKEN = 'SELECT id FROM grants WHERE refresh_token_hash IS NULL';

describe.each([
  {
    name: 'a SQLite file',
    places: sqliteFiles(),
    select: async (location: string, text: string): Promise<readonly unknown[]> => {
      const connection = new DatabaseSync(location);
      const rows = connection.prepare(text).all();
      connection.close();
      return rows;
    },
  },
  { name: 'PostgreSQL', places: postgresDatabases(), select: queryPostgres },
])('$name when its process is killed', ({ places, select }) => {
  it('T139: contains every confirmed operation and no partial one after its process is killed', async () => {
    const location = await places();
    for (const milliseconds of [20, 80]) {
      const confirmed = await workUntilKilled(location, milliseconds);
      expect(confirmed.length).toBeGreaterThan(0);
      const store = await openTestStore(location);
      for (const line of confirmed) {
        const [grantId = '', number] = line.split(' ');
        expect((await store.findGrant(grantId))?.token?.generation).toBeGreaterThanOrEqual(Number(number));
      }
      await store.close();
      // PostgreSQL may still be completing statements of the killed process.
      await expect.poll(() => select(location, SPENT_WITHOUT_GRANT)).toEqual([]);
      await expect.poll(() => select(location, GRANT_WITHOUT_TOKEN)).toEqual([]);
    }
  });
});

/** Returns the grants and generations of the refresh tokens that the process reported as stored. */
async function workUntilKilled(location: string, milliseconds: number): Promise<readonly string[]> {
  const script = fileURLToPath(new URL('worker.ts', import.meta.url));
  const child = spawn(process.execPath, [...sourceFlags(), script, location], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const confirmed: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => confirmed.push(line));
  await once(lines, 'line');
  await sleep(milliseconds);
  child.kill('SIGKILL');
  await once(lines, 'close');
  return confirmed;
}
