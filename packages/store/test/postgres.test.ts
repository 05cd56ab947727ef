/** PostgreSQL alone: failing networks, terminated connections, roles with few rights. */
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { OAuthError } from '@portcullis/protocol';
import { openStore, StoreError } from '@portcullis/store';
import { Client } from 'pg';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../../tests/support/postgres.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newAccount,
  newAccountLink,
  newClient,
  newCode,
  newHash,
  newKey,
  newPasskey,
  newRefreshToken,
  newSession,
  PASSWORD_HASH,
  RACERS,
  race,
  times,
} from '../testing/samples.ts';
import { postgresDatabases, queryPostgres } from './databases.ts';
import { type Network, startNetwork } from './network.ts';

const databases = postgresDatabases();

describe('opening a PostgreSQL database', () => {
  it('runs each migration once when several stores open an empty PostgreSQL database concurrently', async () => {
    const location = await databases();
    const stores = await Promise.all(times(6, () => openStore(location)));
    for (const store of stores) await store.ping();
    const numbers = await queryPostgres(
      location,
      'SELECT number::int FROM portcullis_migrations ORDER BY number',
    );
    expect(numbers).toEqual(numbers.map((_, index) => ({ number: index + 1 })));
    for (const store of stores) await store.close();
  });

  it('refuses a PostgreSQL database of a newer version, and opens it once the version is supported', async () => {
    const location = await databases();
    await (await openStore(location)).close();
    await queryPostgres(location, "INSERT INTO portcullis_migrations VALUES (9999, 'the future', 0)");
    await expect(openStore(location)).rejects.toThrow(
      /created by a newer version of Portcullis \(schema 9999; this version supports up to \d+\)/,
    );
    await queryPostgres(location, 'DELETE FROM portcullis_migrations WHERE number = 9999');
    await (await openStore(location)).close();
  });

  it('refuses a PostgreSQL database of another program and leaves it unchanged', async () => {
    const location = await databases();
    await queryPostgres(location, 'CREATE TABLE accounts (id INTEGER)');
    await expect(openStore(location)).rejects.toThrow('Give Portcullis a database of its own');
    expect(
      await queryPostgres(location, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    ).toEqual([{ tablename: 'accounts' }]);
  });

  it('opens an up-to-date database without the privilege to change the schema', async () => {
    const location = await databases();
    await (await openStore(location)).close();
    const role = `clerk_${new URL(location).pathname.slice(1)}`;
    await queryPostgres(
      location,
      `CREATE ROLE ${role} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    const store = await openStore(Object.assign(new URL(location), { username: role }).href);
    const { grant } = await createGrant(store);
    expect(await store.isAccessTokenLive('jti', grant.id)).toBe(true);
    const key = newKey();
    expect(await store.addSigningKey(key, null)).toEqual([key]);
    await store.close();
    await queryPostgres(location, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  const unreachable = [
    {
      description: 'an unreachable server',
      location: 'postgres://clerk:hunter2@127.0.0.1:1/portcullis',
    },
    { description: 'an invalid URL', location: 'postgres://clerk:hunter2@[/portcullis' },
  ];
  it.each(unreachable)('refuses $description without revealing the password', async ({ location }) => {
    const refused = openStore(location);
    await expect(refused).rejects.toThrow(StoreError);
    await expect(refused).rejects.toThrow('The PostgreSQL database cannot be opened');
    await expect(refused).rejects.not.toThrow('hunter2');
  });
});

describe('PostgreSQL when an operation waits for another', () => {
  it('T143: revokes the grant that a code redemption created while the removal of its client waited', async () => {
    const location = await databases();
    const store = await openStore(location);
    const client = newClient();
    await store.saveClient(client);
    const { grant } = await createGrant(store, { grant: { clientId: client.id } });
    const waiting = await issueSampleCode(store, newCode({ clientId: client.id }));

    const redemption = new Client({ connectionString: location });
    await redemption.connect();
    await redemption.query('BEGIN');
    await redemption.query('UPDATE authorization_codes SET consumed_at = $1 WHERE hash = $2', [
      NOW,
      waiting.hash,
    ]);
    const removal = store.removeClient(client.id, NOW);
    await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 1 }]);
    await redemption.query(
      "INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, last_used_at, consent_digest) SELECT 'grant_late', client_id, account_id, scopes, resources, created_at, expires_at, last_used_at, consent_digest FROM grants WHERE id = $1",
      [grant.id],
    );
    await redemption.query('COMMIT');
    await redemption.end();

    expect(await removal).toBe(true);
    expect(await store.isAccessTokenLive('jti', grant.id)).toBe(false);
    expect(await store.isAccessTokenLive('jti', 'grant_late')).toBe(false);
    await store.close();
  });

  const endedAccounts = [
    {
      description: 'disabled',
      end: (store: AuthorizationStore, id: string) => store.disableAccount(id, NOW),
    },
    { description: 'removed', end: (store: AuthorizationStore, id: string) => store.removeAccount(id, NOW) },
  ];
  it.each(endedAccounts)(
    'creates no grant for a code redeemed while its account is being $description',
    async ({ end }) => {
      const location = await databases();
      const store = await openStore(location);
      const { grant } = await createGrant(store);
      const code = newCode({ accountId: grant.accountId });
      // Disabling or removal has passed the codes, and waits for a locked grant.
      const holder = await hold(location, 'SELECT 1 FROM grants WHERE id = $1 FOR UPDATE', grant.id);
      const ended = end(store, grant.accountId);
      await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 1 }]);
      await store.issueCode(code);
      const redemption = store.redeemCode(code.hash, grantOf(code), newRefreshToken(), NOW);
      await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 2 }]);
      await holder.release();

      expect(await ended).toBe(true);
      expect(await redemption).toBe('account_unavailable');
      expect(await store.findGrant(code.grantId)).toBeNull();
      expect(await store.isAccessTokenLive('jti', grant.id)).toBe(false);
      await store.close();
    },
  );

  it.each(endedAccounts)(
    'revokes the grant of a code redeemed before its account was $description',
    async ({ end }) => {
      const location = await databases();
      const store = await openStore(location);
      const code = await issueSampleCode(store);
      // The redemption holds the account, and waits for the locked code.
      const holder = await hold(
        location,
        'SELECT 1 FROM authorization_codes WHERE hash = $1 FOR UPDATE',
        code.hash,
      );
      const redemption = store.redeemCode(code.hash, grantOf(code), newRefreshToken(), NOW);
      await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 1 }]);
      const ended = end(store, code.accountId);
      await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 2 }]);
      await holder.release();

      expect(await redemption).toBe('redeemed');
      expect(await ended).toBe(true);
      expect((await store.findGrant(code.grantId))?.grant.revokedAt).toBe(NOW);
      await store.close();
    },
  );

  it.each<[string, (store: AuthorizationStore, id: string, session: string) => Promise<boolean>]>([
    ['browser session', (store, id) => store.saveSession(newSession(id), PASSWORD_HASH)],
    ['passkey', (store, id, session) => store.addPasskey(newPasskey(id), session)],
    [
      'TOTP factor',
      (store, accountId, session) =>
        store.saveTotpFactor(
          { accountId, encryptedSecret: 'x', lastStep: 0, createdAt: NOW },
          [newHash()],
          session,
        ),
    ],
  ])('saves no %s while a reset is under way', async (_what, save) => {
    const location = await databases();
    const store = await openStore(location);
    const account = newAccount();
    const link = newAccountLink(account.id);
    await store.createAccount(account, link);
    const { hash: session, ...others } = newSession(account.id);
    await store.saveSession({ hash: session, ...others }, PASSWORD_HASH);
    // The reset has set the password, and waits for the passkeys.
    const holder = await hold(location, 'LOCK TABLE passkeys IN SHARE MODE');
    const reset = store.redeemAccountLink(link.hash, { passwordHash: '$argon2id$new', passkey: null }, NOW);
    await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 1 }]);
    const saved = save(store, account.id, session);
    await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 2 }]);
    await holder.release();

    expect([await reset, await saved]).toEqual([true, false]);
    expect(await store.listSessions(account.id, NOW)).toEqual([]);
    expect(await store.listPasskeys(account.id)).toEqual([]);
    expect(await store.findTotpFactor(account.id)).toBeNull();
    await store.close();
  });

  it('ends the grant of a personal access token that is being saved while all connections of its account end', async () => {
    const location = await databases();
    const store = await openStore(location);
    const { grant } = await createGrant(store);
    const late = grantOf(newCode({ accountId: grant.accountId }));
    // The grant is inserted, and waits for its token.
    const holder = await hold(location, 'LOCK TABLE personal_access_tokens IN ACCESS EXCLUSIVE MODE');
    const token = { grantId: late.id, hash: newHash(), name: 'CI' };
    const saved = store.savePersonalAccessToken(token, late);
    await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 1 }]);
    const ended = store.revokeAccountGrants(grant.accountId, null, NOW);
    await expect.poll(() => queryPostgres(location, WAITING)).toEqual([{ waiting: 2 }]);
    await holder.release();

    expect([await saved, await ended]).toEqual([true, 2]);
    expect((await store.findGrant(late.id))?.grant.revokedAt).toBe(NOW);
    await store.close();
  });
});

/** Locks a row or table from a separate connection. */
async function hold(location: string, statement: string, ...values: readonly string[]) {
  const client = new Client({ connectionString: location });
  await client.connect();
  await client.query('BEGIN');
  await client.query(statement, [...values]);
  return {
    async release() {
      await client.query('COMMIT');
      await client.end();
    },
  };
}

const WAITING = `SELECT count(*)::int AS waiting FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

describe('PostgreSQL that stalls', () => {
  const POOL = 4;
  const BACKENDS = `SELECT pid, state = 'active' AS is_active FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'portcullis'`;
  const outage = { code: 'temporarily_unavailable', status: 503 };

  /** By a store with more time than those that a test stalls. */
  async function createGrantAt(location: string) {
    const store = await openTestStore(location);
    const created = await createGrant(store);
    await store.close();
    return created;
  }

  it('leaves nothing behind to be committed later when statements wait for a lock', async () => {
    const location = await databases();
    const { grant, token } = await createGrantAt(location);
    const store = await openStore(location, { busyTimeout: 1, poolSize: POOL });
    const stall = new Client({ connectionString: location });
    await stall.connect();
    await stall.query('BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
    for (let round = 0; round < 3; round += 1) {
      const refused = await Promise.allSettled(
        times(POOL * 2, () => store.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null)),
      );
      for (const one of refused) expect(one).toMatchObject({ status: 'rejected', reason: outage });
      // A busy machine ends a cancelled statement a moment after its error.
      const active = async () =>
        (await queryPostgres(location, BACKENDS)).filter(({ is_active: isActive }) => isActive);
      await expect.poll(active).toEqual([]);
      expect((await queryPostgres(location, BACKENDS)).length).toBeLessThanOrEqual(POOL);
    }
    await stall.end();
    await expect.poll(() => store.ping().then(() => 'served', String)).toBe('served');
    expect((await store.findGrant(grant.id))?.token).toEqual(token);
    expect(await store.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null)).toBe('rotated');
    await store.close();
  });

  it('opens no more connections than its pool has when the processes of PostgreSQL hang, and recovers', async () => {
    const location = await databases();
    const { grant, token } = await createGrantAt(location);
    const store = await openStore(location, { busyTimeout: 1, poolSize: POOL });
    // These share no transaction, so that each opens a connection.
    await Promise.all(times(POOL, () => store.revokeAccountGrants('user_none', 'grant_none', NOW)));
    const hung = (await queryPostgres(location, BACKENDS)).map(({ pid }) => Number(pid));
    for (const pid of hung) process.kill(pid, 'SIGSTOP');
    try {
      for (let round = 0; round < 3; round += 1) {
        const refused = await Promise.allSettled(
          times(POOL, () => store.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null)),
        );
        for (const one of refused) expect(one).toMatchObject({ status: 'rejected', reason: outage });
        expect((await queryPostgres(location, BACKENDS)).length).toBeLessThanOrEqual(POOL);
      }
    } finally {
      for (const pid of hung) process.kill(pid, 'SIGCONT');
    }
    await expect.poll(() => store.ping().then(() => 'served', String)).toBe('served');
    expect((await store.findGrant(grant.id))?.token).not.toBeNull();
    await store.close();
  });

  it('shows nothing that its synchronous replica lacks: what waits for it is not cancelled, and a retry is not acknowledged', async () => {
    const server = await startServer({ fsync: 'off' });
    onTestFinished(server.stop);
    const { grant } = await createGrantAt(server.url);
    const store = await openStore(server.url, { busyTimeout: 1, poolSize: POOL });
    const setReplicas = async (names: string) => {
      await queryPostgres(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await queryPostgres(server.url, 'SELECT pg_reload_conf()');
      const current = async () => (await queryPostgres(server.url, 'SHOW synchronous_standby_names'))[0];
      await expect.poll(current).toEqual({ synchronous_standby_names: names });
    };
    const isRevoked = async () => (await store.findGrant(grant.id))?.grant.revokedAt !== null;
    await setReplicas('*');
    // The setting counts for commits once the checkpointer has read it.
    const commits: Promise<unknown>[] = [];
    await expect
      .poll(() => {
        commits.push(queryPostgres(server.url, "SELECT pg_logical_emit_message(true, 'test', '')"));
        return queryPostgres(
          server.url,
          "SELECT 1 AS one FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        );
      })
      .not.toEqual([]);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(store.revokeGrant(grant.id, NOW)).rejects.toMatchObject(outage);
      expect(await isRevoked()).toBe(false);
    }
    await setReplicas('');
    await expect.poll(isRevoked).toBe(true);
    await Promise.all(commits);
    await store.close();
  });

  it('closes at once although abandoned queries have not ended', async () => {
    const location = await databases();
    const store = await openStore(location, { busyTimeout: 1, poolSize: 1 });
    await store.ping();
    const [backend] = await queryPostgres(location, BACKENDS);
    process.kill(Number(backend?.['pid']), 'SIGSTOP');
    try {
      await expect(store.ping()).rejects.toMatchObject(outage);
      await store.close();
    } finally {
      process.kill(Number(backend?.['pid']), 'SIGCONT');
    }
  });
});

describe('PostgreSQL with serializable isolation by default', () => {
  it('keeps every guarantee under serializable isolation by retrying conflicting transactions', async () => {
    const location = await databases();
    const name = new URL(location).pathname.slice(1);
    await queryPostgres(
      location,
      `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`,
    );
    const store = await openStore(location);
    const code = await issueSampleCode(store);
    const { grant, token } = await createGrant(store);
    const successor = newRefreshToken();
    const races = await Promise.all([
      race(times(RACERS, () => () => store.redeemCode(code.hash, grantOf(code), null, NOW))),
      race(times(RACERS, () => () => store.rotateRefreshToken(grant.id, token.hash, successor, null))),
      race(times(RACERS, () => () => store.createFirstAccount(newAccount(), null))),
    ]);
    expect(races).toEqual([
      { redeemed: 1, already_used: RACERS - 1 },
      { rotated: 1, conflict: RACERS - 1 },
      { created: 1, refused: RACERS - 1 },
    ]);
    await store.close();
  });
});

describe('PostgreSQL that is unreachable', () => {
  let network: Network | undefined;
  afterEach(() => network?.close());
  const outage = {
    code: 'temporarily_unavailable',
    status: 503,
    reason: expect.stringMatching(/^PostgreSQL: /),
  };

  it('reports an outage until PostgreSQL is back, and then recovers', async () => {
    network = await startNetwork(await databases());
    const store = await openStore(network.location);
    const code = await issueSampleCode(store);
    await store.saveClient(newClient());

    network.cut();
    for (const operation of [
      () => store.ping(),
      () => store.findCode(code.hash),
      () => store.redeemCode(code.hash, grantOf(code), null, NOW),
      () => store.addSigningKey(newKey(), null),
      () => store.sweep(NOW, 10),
    ]) {
      await expect(operation()).rejects.toMatchObject(outage);
    }
    network.restore();
    expect(await store.findCode(code.hash)).toEqual({ ...code, consumedAt: null });
    expect(await store.redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
    await store.close();
  });

  it('retries reads whose idle connections were cut', async () => {
    network = await startNetwork(await databases());
    const store = await openStore(network.location);
    const code = await issueSampleCode(store);
    await Promise.all(times(10, () => store.ping()));
    network.cut();
    network.restore();
    expect(await store.findCode(code.hash)).toEqual({ ...code, consumedAt: null });
    await store.close();
  });

  it('reports an outage after the busy timeout when PostgreSQL is silent', async () => {
    network = await startNetwork(await databases());
    const store = await openStore(network.location, { busyTimeout: 2 });
    const client = newClient();
    await store.saveClient(client);
    network.silence();
    await expect(store.findClient(client.id)).rejects.toMatchObject(outage);
    await expect(store.addSigningKey(newKey(), null)).rejects.toMatchObject(outage);
    network.restore();
    expect(await store.findClient(client.id)).toEqual(client);
    expect(await store.addSigningKey(newKey(), null)).toHaveLength(1);
    await store.close();
  });

  it('never crashes the process when connections are terminated', async () => {
    const location = await databases();
    const store = await openStore(location);
    const refusals: unknown[] = [];
    let [done, isOver] = [0, false];
    const work = times(8, async () => {
      while (!isOver) {
        await createGrant(store).then(
          () => {
            done += 1;
          },
          (error) => refusals.push(error),
        );
        await store.addSigningKey(newKey(), null).catch((error) => refusals.push(error));
      }
    });
    for (let round = 0; round < 30 || done === 0; round += 1) {
      await queryPostgres(
        location,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    }
    isOver = true;
    await Promise.all(work);
    expect(done).toBeGreaterThan(0);
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(OAuthError);
      expect(refusal).toMatchObject(outage);
    }
    const { grant } = await createGrant(store);
    expect(await store.isAccessTokenLive('jti', grant.id)).toBe(true);
    expect(await store.listSigningKeys()).toHaveLength(1);
    await store.close();
  });

  it('T139: contains no partial operation after connections were terminated during them', async () => {
    const location = await databases();
    const store = await openStore(location);
    const codes = await Promise.all(times(40, () => issueSampleCode(store)));
    const outcomes = codes.map((code) =>
      store.redeemCode(code.hash, grantOf(code), null, NOW).catch((error: unknown) => error),
    );
    await queryPostgres(
      location,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await Promise.all(outcomes);
    const partial = await queryPostgres(
      location,
      'SELECT c.hash FROM authorization_codes c FULL JOIN grants g ON g.id = c.grant_id WHERE (c.consumed_at IS NULL) <> (g.id IS NULL)',
    );
    expect(partial).toEqual([]);
    for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
      if (outcome !== 'redeemed') continue;
      // A connection of the pool may be found to be terminated only now.
      const find = () => store.findCode(codes[index]?.hash ?? '').catch(() => null);
      await expect.poll(find).toMatchObject({ consumedAt: NOW });
    }
    await store.close();
  });
});
