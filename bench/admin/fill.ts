/** Fills both stores for `bench/admin/measure.ts`: a million grants and ten million events each, with a few rare events among them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { openStore } from '@portcullis/store';
import { startServer } from '../../tests/support/postgres.ts';
import { fillPostgres, type Size } from '../authorization/fill-postgres.ts';
import { fillSqlite } from './fill-sqlite.ts';

const DAY = 86_400_000;
const RESOURCE = 'http://localhost:9000/mcp';

/**
 * Rare events that a filter looks for, over the whole time: at each time of the day, since hours that are alike have the same filter, in
 * which one value that is found in vain would be found in each of them.
 */
function rareEvents(): readonly AuditEventRecord[] {
  const base = {
    clientId: 'rare_client',
    accountId: 'user_rare',
    grantId: 'grant_rare',
    resource: null,
    transactionId: null,
  };
  return Array.from({ length: 80 }, (_, index) => {
    const at = Date.now() - (index + 1) * DAY - index * 1_000_003;
    const call = {
      method: 'tools/call',
      server: '/rare',
      tool: 'delete_page',
      decision: 'denied',
      outcome: 'refused',
    };
    const details =
      index % 2 === 0 ? { keyId: `key-${index}` } : { ...call, duration: 1, backendDuration: 0 };
    return {
      ...{
        ...base,
        id: `${at.toString(36).padStart(9, '0')}-rare000-${index}`,
        at,
        expiresAt: Math.floor(at / 1000) + 7_776_000,
      },
      ...{
        type: index % 2 === 0 ? 'key.rotated' : 'call.finished',
        details: { ...details, reference: `RARE-${index}` },
      },
    };
  });
}

async function addRare(location: string): Promise<void> {
  const store = await openStore(location);
  // One at a time: each day has a table of its own on PostgreSQL.
  for (const event of rareEvents()) await store.appendEvents([event]);
  await store.close();
}

const [folder = join(tmpdir(), 'portcullis-admin-bench'), millions = '10'] = process.argv.slice(2);
const size: Size = {
  grants: Number(millions) * 100_000,
  users: Number(millions) * 10_000,
  events: Number(millions) * 1_000_000,
};
mkdirSync(folder, { recursive: true });
const sqlite = join(folder, 'portcullis.db');
const began = performance.now();
await fillSqlite(sqlite, size, RESOURCE);
await addRare(sqlite);
console.log(`SQLite is filled after ${((performance.now() - began) / 1000).toFixed(0)} s`);
const postgres = await startServer({
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '1GB',
  autovacuum: 'off',
});
await (await openStore(postgres.url)).close();
await fillPostgres(postgres.url, size, RESOURCE);
await addRare(postgres.url);
writeFileSync(join(folder, 'locations.json'), JSON.stringify([sqlite, postgres.url]));
console.log(`PostgreSQL runs until this process ends: ${postgres.url}`);
process.once('SIGTERM', () => void postgres.stop().then(() => process.exit(0)));
setInterval(() => {}, 60_000);
