/** A crashed PostgreSQL is replaced by its replica: no session ends, and writing works again without a restart. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startServer } from '../support/postgres.ts';
import { refresh } from './browser.ts';
import { askPostgres } from './places.ts';
import { type AtEnd, type ServerProcess, send, startProcess } from './servers.ts';
import { openSessions, refreshAtLast } from './sessions.ts';
import { TIMEOUT } from './sizes.ts';
import { credentialsOf } from './world.ts';

const SESSIONS = 60;
/** Milliseconds of refreshes before the crash. */
const LOAD = 1500;

describe('promotion of a replica of PostgreSQL', () => {
  it(
    'of a synchronous replica loses nothing: every session continues, and what was revoked stays revoked',
    async ({ onTestFinished: atEnd }) => {
      const { primary, replica, server } = await start(atEnd, { synchronous_standby_names: '*' });
      const [revoked = '', ...tokens] = await openSessions(server, SESSIONS + 1);
      const clients = keepRefreshing(server, tokens);
      await sleep(LOAD);
      expect((await revoke(server, revoked)).status).toBe(200);
      const away = await replaceWith(replica, primary, clients);
      const newest = await clients.stop();
      for (const token of newest) expect((await refresh(server, token)).status).toBe(200);
      expect((await refresh(server, revoked)).body['error']).toBe('invalid_grant');
      await server.stop();
      expect(await countOf(replica.url, REVOKED)).toBe(1);
      expect(await countOf(replica.url, AHEAD)).toBe(0);
      report(`synchronous replica: ${newest.length}/${SESSIONS} sessions continue`, away);
    },
    TIMEOUT,
  );

  it(
    'of an asynchronous replica that lacks the last writes ends no session: newer refresh tokens are accepted',
    async ({ onTestFinished: atEnd }) => {
      const { primary, replica, server } = await start(atEnd, {});
      const tokens = await openSessions(server, SESSIONS);
      const lag = await detach(replica.url, primary.url);
      const clients = keepRefreshing(server, tokens);
      await sleep(LOAD);
      const bytes = await lag();
      expect(bytes).toBeGreaterThan(0);
      const away = await replaceWith(replica, primary, clients);
      const newest = await clients.stop();
      for (const token of newest) expect((await refresh(server, token)).status).toBe(200);
      await server.stop();
      expect(await countOf(replica.url, REVOKED)).toBe(0);
      expect(await countOf(replica.url, AHEAD)).toBe(SESSIONS);
      report(
        `asynchronous replica, ${LOAD} ms (${bytes} bytes) of WAL lost: ${newest.length}/${SESSIONS} sessions continue`,
        away,
      );
    },
    TIMEOUT,
  );
});

const REVOKED = 'SELECT count(*) AS n FROM grants WHERE revoked_at IS NOT NULL';
const AHEAD = "SELECT count(*) AS n FROM audit_events WHERE type = 'refresh_token.ahead_of_store'";

async function countOf(url: string, query: string): Promise<number> {
  return Number((await askPostgres(url, query))[0]?.['n']);
}

interface Database {
  readonly url: string;
}

interface Pair {
  readonly primary: Database & { crash(): Promise<void> };
  /** `takeOver` lets the address of the database lead to it. */
  readonly replica: Database & { takeOver(): void };
  readonly server: ServerProcess;
}

async function start(atEnd: AtEnd, settings: Readonly<Record<string, string>>): Promise<Pair> {
  // As installed: with `fsync` and synchronous commits.
  const primary = await startServer(settings);
  atEnd(primary.stop);
  const replica = await primary.startReplica();
  const address = await openAddress(primary.url, atEnd);
  const server = await startProcess(address.url, atEnd);
  return { primary, replica: { url: replica.url, takeOver: () => address.move(replica.url) }, server };
}

/** An address that moves from one database to another, as a virtual address or a proxy does. */
async function openAddress(
  first: string,
  atEnd: AtEnd,
): Promise<{ readonly url: string; move(to: string): void }> {
  let target = first;
  const open = new Set<Socket>();
  const closeAll = () => {
    for (const socket of open) socket.destroy();
  };
  const listener = createServer((incoming) => {
    const outgoing = connect(Number(new URL(target).port), '127.0.0.1');
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      open.add(one);
      one.once('error', () => one.destroy());
      one.once('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    listener.close();
    closeAll();
  });
  const { port } = listener.address() as AddressInfo;
  return {
    url: Object.assign(new URL(first), { port: String(port) }).href,
    move(to) {
      target = to;
      closeAll();
    },
  };
}

/** No write after this reaches the replica. @returns how many bytes it lacks */
async function detach(replica: string, primary: string): Promise<() => Promise<number>> {
  const position = async () =>
    String((await askPostgres(primary, 'SELECT pg_current_wal_lsn() AS at'))[0]?.['at']);
  const behind = async (at: string) =>
    countOf(replica, `SELECT pg_wal_lsn_diff('${at}', pg_last_wal_receive_lsn()) AS n`);
  const last = await position();
  await expect.poll(() => behind(last)).toBeLessThanOrEqual(0);
  await askPostgres(replica, "ALTER SYSTEM SET primary_conninfo = ''");
  await askPostgres(replica, 'SELECT pg_reload_conf()');
  await expect.poll(() => countOf(primary, 'SELECT count(*) AS n FROM pg_stat_replication')).toBe(0);
  return async () => behind(await position());
}

interface Refreshing {
  /** The next response to a request that begins now or later. */
  response(): Promise<void>;
  /** The newest refresh token of each client. */
  stop(): Promise<readonly string[]>;
}

/** Each client refreshes again and again, and after the crash at least twice. */
function keepRefreshing(server: ServerProcess, tokens: readonly string[]): Refreshing {
  let isStopped = false;
  let next = Promise.withResolvers<void>();
  const clients = tokens.map(async (first) => {
    let token = first;
    for (let left = 2; left > 0; left -= isStopped ? 1 : 0) {
      const mine = next;
      token = await refreshAtLast(server, token, 100);
      mine.resolve();
      await sleep(20);
    }
    return token;
  });
  return {
    response() {
      next = Promise.withResolvers<void>();
      return next.promise;
    },
    stop() {
      isStopped = true;
      return Promise.all(clients);
    },
  };
}

/** Milliseconds without writes, from the crash to the promotion and to the first refresh. */
interface Away {
  readonly promoted: number;
  readonly refreshed: number;
}

async function replaceWith(
  replica: Pair['replica'],
  primary: Pair['primary'],
  clients: Refreshing,
): Promise<Away> {
  const before = performance.now();
  await primary.crash();
  const back = clients.response();
  await askPostgres(replica.url, 'SELECT pg_promote()');
  replica.takeOver();
  const promoted = performance.now() - before;
  await back;
  const refreshed = performance.now() - before;
  expect(refreshed).toBeLessThan(15_000);
  return { promoted, refreshed };
}

function revoke(server: ServerProcess, token: string) {
  return send(server, '/revoke', { form: { token, ...credentialsOf('web') } });
}

function report(what: string, { promoted, refreshed }: Away): void {
  console.info(
    `${what}; replica promoted ${Math.round(promoted)} ms after the crash, writes back after ${Math.round(refreshed)} ms`,
  );
}
