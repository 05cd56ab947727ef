/** Upgrades from every version that was released: its clients, users and keys go on. `npm run record-release` adds a version. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authorize, isActive, redeem, refresh } from '../resilience/browser.ts';
import { startProcess } from '../resilience/servers.ts';
import { databases, newestSchema, type Recorded } from './databases.ts';

const folder = new URL('released/', import.meta.url);
const versions = readdirSync(folder).map((file) => file.replace(/\.json$/, ''));

function recordedBy(version: string, kind: string): Recorded {
  const file = new URL(`${version}.json`, folder);
  const found = (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>)[kind];
  if (found === undefined) throw new Error(`${version} has no ${kind}`);
  return found;
}

describe.each(versions)('a database of version %s', (version) => {
  it.each(databases)('on $name is upgraded: tokens, sessions, consent and keys stay valid', async (kind) => {
    const recorded = recordedBy(version, kind.name);
    const atEnd = onTestFinished;
    const location = await kind.make(atEnd);
    await kind.migrate(location, recorded.schema);
    expect(await kind.schemaHash(location), 'a migration that was released has changed').toBe(
      recorded.schemaHash,
    );
    await kind.fill(location, recorded.rows);

    const skew = recorded.recordedAt + 10 - Math.floor(Date.now() / 1000);
    const server = await startProcess(location, atEnd, 5, `skew=${skew}`);
    expect(await isActive(server, recorded.accessToken)).toBe(true);
    expect((await refresh(server, recorded.refreshToken)).status).toBe(200);
    // Without a question: the user is signed in, and has allowed this client.
    const again = await redeem(server, await authorize(server, recorded));
    expect(again.status).toBe(200);
    const refused = await refresh(server, recorded.revokedRefreshToken);
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
    await server.stop();

    const rows = await kind.dump(location);
    for (const table of ['accounts', 'clients', 'signing_keys'] as const)
      expect(rows[table]).toHaveLength(recorded.rows[table]?.length ?? -1);
  });
});

it('the newest schema is that of the last version, or newer', () => {
  for (const version of versions)
    for (const { name } of databases)
      expect(recordedBy(version, name).schema).toBeLessThanOrEqual(newestSchema);
});
