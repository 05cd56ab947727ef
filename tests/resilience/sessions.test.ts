/** Stalled locks, lost responses, clocks and restored backups: no session ends without cause, and servers recover without a restart. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { refresh } from './browser.ts';
import { kinds } from './places.ts';
import { send, startProcess } from './servers.ts';
import { CLIENTS, expectNoReuse, openSessions, refreshAll } from './sessions.ts';
import { sizes, TIMEOUT } from './sizes.ts';
import { credentialsOf } from './world.ts';

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

describe.each(kinds)('several server processes on $name', (kind) => {
  it.each([35, -35, 3600, -3600])(
    'clients that alternate between two servers whose clocks differ by %i s keep their sessions, and none that was revoked is back',
    async (skew) => {
      const atEnd = onTestFinished;
      const place = await kind.make(atEnd);
      const servers = [
        await startProcess(place.location, atEnd),
        await startProcess(place.location, atEnd, 5, `skew=${skew}`),
      ] as const;
      const [revoked = '', ...opened] = await openSessions(servers[0]);
      let tokens: readonly string[] = opened;
      for (let turn = 0; turn < 6; turn += 1) {
        const [one, other] = turn % 2 === 0 ? servers : servers.toReversed();
        const successors = await refreshAll(one ?? servers[0], tokens);
        // Their responses were lost: they ask the other server.
        expect(await refreshAll(other ?? servers[0], tokens)).toEqual(successors);
        tokens = successors;
      }
      await expectNoReuse(place);
      const form = { token: revoked, ...credentialsOf('web') };
      expect((await send(servers[0], '/revoke', { form })).status).toBe(200);
      for (const server of servers) {
        expect((await refresh(server, revoked)).body['error']).toBe('invalid_grant');
        await server.stop();
      }
    },
    TIMEOUT,
  );

  it(
    'the predecessor is answered by another process until a third one has seen the successor; then it is reuse',
    async ({ onTestFinished: atEnd }) => {
      const place = await kind.make(atEnd);
      const [first, second, third] = await Promise.all(
        [1, 2, 3].map(() => startProcess(place.location, atEnd)),
      );
      if (first === undefined || second === undefined || third === undefined) throw new Error('no server');
      const [token = ''] = await openSessions(first, 1);
      const [successor = ''] = await refreshAll(first, [token]);
      expect(await refreshAll(second, [token, token])).toEqual([successor, successor]);
      const [next = ''] = await refreshAll(third, [successor]);
      // The direct predecessor of the newest, at each of them.
      for (const server of [first, second, third])
        expect(await refreshAll(server, [successor])).toEqual([next]);
      await expectNoReuse(place);
      for (const [server, presented] of [
        [second, token],
        [third, next],
      ] as const) {
        const answer = await refresh(server, presented);
        expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
      }
      for (const server of [first, second, third]) await server.stop();
      const reuse = "SELECT id FROM audit_events WHERE type = 'refresh_token.reuse_detected'";
      expect(await place.ask(reuse)).toHaveLength(1);
    },
    TIMEOUT,
  );

  it(
    'clients whose requests were under way when their process was killed continue at two others',
    async ({ onTestFinished: atEnd }) => {
      const place = await kind.make(atEnd);
      const [second, third] = await Promise.all([2, 3].map(() => startProcess(place.location, atEnd)));
      if (second === undefined || third === undefined) throw new Error('no server');
      let tokens: readonly string[] = await openSessions(second);
      for (let kill = 0; kill < sizes.kills; kill += 1) {
        const first = await startProcess(place.location, atEnd);
        const underWay = tokens.map((token) => refresh(first, token).catch(() => null));
        // Some have their response, others not.
        await Promise.race(underWay);
        await first.kill();
        const answers = await Promise.all(underWay);
        const successors = await refreshAll(second, tokens);
        for (const [index, answer] of answers.entries()) {
          if (answer !== null) expect(answer.body['refresh_token']).toBe(successors[index]);
        }
        tokens = await refreshAll(third, successors);
      }
      await expectNoReuse(place);
    },
    TIMEOUT,
  );
});
