/** Where PostgreSQL finds and keeps rows: by which index, and whether those that change stay on their page. */

import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { createGrant, NOW, newAccount, newClient, times } from '../testing/samples.ts';
import { postgresDatabases, queryPostgres } from './databases.ts';

const databases = postgresDatabases();

async function open(): Promise<{ store: AuthorizationStore; location: string }> {
  const location = await databases();
  const store = await openTestStore(location);
  onTestFinished(() => store.close());
  return { store, location };
}

/** As lines of text; of an index where one fits, as on a large table. */
async function planOf(location: string, text: string): Promise<string> {
  const url = new URL(location);
  url.searchParams.set('options', '-c enable_seqscan=off');
  const lines = await queryPostgres(url.href, `EXPLAIN ${text}`);
  return lines.map((line) => line['QUERY PLAN']).join('\n');
}

describe('grants on PostgreSQL', () => {
  it('of one account at one client are found by the account, whatever the planner knows of the table', async () => {
    const { store, location } = await open();
    const client = newClient();
    await Promise.all(times(10, () => createGrant(store, { grant: { clientId: client.id } })));
    const own = `SELECT id FROM grants WHERE account_id = '${newAccount().id}' AND client_id = '${client.id}' AND revoked_at IS NULL`;
    expect(await planOf(location, own)).toContain('grants_by_account_and_client');
    // No other index knows this condition.
    await queryPostgres(location, 'DROP INDEX grants_by_account_and_client');
    expect(await planOf(location, own)).not.toContain('grants_of_client');
  });

  it('of a client are found by an index of their own when it is disabled or removed', async () => {
    const { store, location } = await open();
    const client = newClient();
    await store.saveClient(client);
    const grants = await Promise.all(times(10, () => createGrant(store, { grant: { clientId: client.id } })));
    const ofClient = `UPDATE grants SET revoked_at = 1 WHERE client_id = '${client.id}' AND revoked_at IS NULL AND id <> ''`;
    // Without rows that count, the planner may take one index for the other.
    await queryPostgres(location, 'DROP INDEX grants_by_account_and_client');
    expect(await planOf(location, ofClient)).toContain('grants_of_client');
    await store.disableClient(client.id, NOW);
    const found = await Promise.all(grants.map(({ grant }) => store.findGrant(grant.id)));
    expect(found.map((one) => one?.grant.revokedAt)).toEqual(grants.map(() => NOW));
  });

  it('leave space on each page, as codes do, so that a first refresh and a redemption touch no index', async () => {
    const { location } = await open();
    const rows = await queryPostgres(
      location,
      "SELECT relname::text AS name, reloptions::text AS options FROM pg_class WHERE relname IN ('grants', 'authorization_codes') ORDER BY 1",
    );
    expect(rows).toEqual([
      { name: 'authorization_codes', options: '{fillfactor=50}' },
      { name: 'grants', options: '{fillfactor=85}' },
    ]);
    // A column of an index, or of its condition, would have it written at each refresh.
    const indexes = await queryPostgres(
      location,
      "SELECT indexdef AS text FROM pg_indexes WHERE tablename = 'grants' AND indexdef ~ 'refresh_token|last_used'",
    );
    expect(indexes).toEqual([]);
  });
});
