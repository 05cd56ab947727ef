/** Stalled locks, lost responses, clocks and restored backups: no session ends without cause, and servers recover without a restart. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authorize, redeem, refresh, signIn } from './browser.ts';
import { kinds, type Place } from './places.ts';
import { type ServerProcess, startProcess } from './servers.ts';
import { sizes, TIMEOUT } from './sizes.ts';

const CLIENTS = 20;

/** The refresh tokens of so many sessions. */
async function openSessions(server: ServerProcess): Promise<string[]> {
  const signedIn = await signIn(server);
  const tokens: string[] = [];
  for (let n = 0; n < CLIENTS; n += 1) {
    const { body } = await redeem(server, await authorize(server, signedIn));
    tokens.push(String(body['refresh_token']));
  }
  return tokens;
}

/** Refreshes until there is a response: a client tries again after any other status than 200 and 400. @returns the successor */
async function refreshAtLast(server: ServerProcess, token: string): Promise<string> {
  for (;;) {
    const answer = await refresh(server, token).catch(() => null);
    if (answer?.status === 200) return String(answer.body['refresh_token']);
    expect(answer?.status ?? 503).toBe(503);
    await sleep(500);
  }
}

const refreshAll = (server: ServerProcess, tokens: readonly string[]) =>
  Promise.all(tokens.map((token) => refreshAtLast(server, token)));

async function expectNoReuse({ ask }: Place): Promise<void> {
  expect(await ask('SELECT id FROM grants WHERE revoked_at IS NOT NULL')).toEqual([]);
}

const postgres = kinds.filter(({ name }) => name === 'PostgreSQL');

describe.each(postgres)('a stalled $name', (kind) => {
  it.each(sizes.stalls)(
    'clients that refresh during a stall of %i s keep their sessions',
    async (seconds) => {
      const atEnd = onTestFinished;
      const place = await kind.make(atEnd);
      const server = await startProcess(place.location, atEnd);
      const tokens = await openSessions(server);
      const stall = new Client({ connectionString: place.location });
      await stall.connect();
      await stall.query('BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
      const refreshing = refreshAll(server, tokens);
      await sleep(seconds * 1000);
      const backends = await stall.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portcullis'",
      );
      expect(backends.rowCount).toBeLessThanOrEqual(10);
      await stall.end();
      const before = performance.now();
      const successors = await refreshing;
      expect(performance.now() - before).toBeLessThan(15_000);
      await refreshAll(server, successors);
      await expectNoReuse(place);
    },
    TIMEOUT,
  );
});

describe.each(kinds)('lost responses, clocks and backups on $name', (kind) => {
  it.each(sizes.restarts)(
    'clients whose responses were lost continue after a restart %i s later, on clocks that differ by an hour',
    async (seconds) => {
      const atEnd = onTestFinished;
      const place = await kind.make(atEnd);
      const first = await startProcess(place.location, atEnd);
      const tokens = await openSessions(first);
      const lost = await refreshAll(first, tokens);
      await first.kill();
      await sleep(seconds * 1000);
      let current = tokens;
      for (const skew of [3600, -3600] as const) {
        const server = await startProcess(place.location, atEnd, 5, `skew=${skew}`);
        const successors = await refreshAll(server, current);
        if (skew > 0) expect(successors).toEqual(lost);
        // Their responses are lost as well, every other time.
        current = successors;
        await refreshAll(server, current);
        await server.kill();
      }
      await expectNoReuse(place);
    },
    TIMEOUT,
  );

  it(
    'clients continue while a backup from before their last refreshes is restored',
    async ({ onTestFinished: atEnd }) => {
      const place = await kind.make(atEnd);
      const server = await startProcess(place.location, atEnd);
      const tokens = await openSessions(server);
      await place.ask('CREATE TABLE backup AS SELECT * FROM grants');
      const newest = await refreshAll(server, await refreshAll(server, tokens));
      await server.kill();
      const columns = ['hash', 'generation', 'issued_at', 'expires_at', 'rotations']
        .map((name) => `refresh_token_${name}`)
        .join();
      await place.ask(
        `UPDATE grants SET (${columns}) = (SELECT ${columns} FROM backup WHERE backup.id = grants.id)`,
      );
      await place.ask('DROP TABLE backup');
      const restored = await startProcess(place.location, atEnd);
      await refreshAll(restored, await refreshAll(restored, newest));
      await restored.stop();
      await expectNoReuse(place);
      const ahead = await place.ask(
        "SELECT id FROM audit_events WHERE type = 'refresh_token.ahead_of_store'",
      );
      expect(ahead).toHaveLength(CLIENTS);
    },
    TIMEOUT,
  );
});
