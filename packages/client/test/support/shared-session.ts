/**
 * Processes that share one session through one file, round after round: each round the access token is dead, all ask at
 * once, and now and then the answer to a refresh is lost. `node --conditions=portcullis-source packages/client/test/support/shared-session.ts [rounds] [processes]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sourceFlags } from '../../../../tests/support/source-flags.ts';
import { openFileStore } from '../../src/node.ts';
import { startParty } from './stub-server.ts';

export interface Shared {
  readonly rounds: number;
  /** Calls that were answered with anything but 200, as they were told. */
  readonly failures: readonly unknown[];
  /** Requests of the token endpoint that were answered, by each round. */
  readonly refreshes: readonly number[];
  /** Answers of the token endpoint that never arrived. */
  readonly lost: number;
  /** Refresh tokens that were used after their successor was. */
  readonly stale: number;
  /** Requests that begin a sign-in: to the registration or the authorization endpoint. */
  readonly signIns: number;
}

/** Every so many rounds an answer is lost on its way: the server has done its part, and says the same when it is asked again. */
const LOSS = 5;

export async function shareSession(rounds: number, processes: number): Promise<Shared> {
  const folder = mkdtempSync(join(tmpdir(), 'shared-session-'));
  const party = await startParty();
  const issuer = party.origin;
  const serverUrl = `${issuer}/mcp`;
  let [access, refresh, stale, lost, losing] = ['', `rt-${randomUUID()}`, 0, 0, false];
  const answers = new Map<string, object>();

  party.on('GET /.well-known/oauth-protected-resource/mcp', {
    body: { resource: serverUrl, authorization_servers: [issuer] },
  });
  party.on('/mcp', ({ headers }) =>
    headers.get('authorization') === `Bearer ${access}` ? { body: {} } : { status: 401 },
  );
  party.on('POST /token', ({ form }) => {
    const used = form.get('refresh_token') ?? '';
    const before = answers.get(used);
    if (used !== refresh && before === undefined) {
      stale += 1;
      return { status: 400, body: { error: 'invalid_grant' } };
    }
    if (before === undefined) {
      [access, refresh] = [`at-${randomUUID()}`, `rt-${randomUUID()}`];
      answers.clear();
      answers.set(used, {
        access_token: access,
        refresh_token: refresh,
        token_type: 'Bearer',
        expires_in: 600,
      });
      if (losing) {
        losing = false;
        lost += 1;
        return null;
      }
    }
    return { body: answers.get(used) };
  });

  const path = join(folder, 'credentials.db');
  const store = openFileStore(path);
  await store.save({
    key: { server: serverUrl, issuer, account: 'default', kind: 'user' },
    since: 1,
    registration: {
      ...{ method: 'dynamic', clientId: 'c', clientSecret: null, authentication: 'none' },
      ...{ redirectUris: [], secretExpiresAt: null },
    },
    tokens: {
      ...{ accessToken: 'at-first', scheme: 'Bearer', expiresAt: null, obtainedAt: 0, refreshToken: refresh },
      ...{ scopes: [], requestedScopes: [], resource: serverUrl, tokenEndpoint: `${issuer}/token` },
      ...{ clientId: 'c', dpopKey: null },
    },
  });
  store.close();

  const workers = Array.from({ length: processes }, () =>
    fork(new URL('store-worker.ts', import.meta.url), [JSON.stringify({ path, serverUrl })], {
      execArgv: [...sourceFlags()],
    }),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const failures: unknown[] = [];
  const refreshes: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    access = 'revoked';
    losing = round % LOSS === LOSS - 1;
    const before = party.asked('/token').length;
    const told = await Promise.all(workers.map(call));
    failures.push(...told.filter((one) => one !== 200));
    refreshes.push(party.asked('/token').length - before);
  }
  for (const worker of workers) worker.send('end');
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  const signIns = party.asked('/register').length + party.asked('/authorize').length;
  await party.close();
  rmSync(folder, { recursive: true, force: true });
  return { rounds, failures, refreshes, lost, stale, signIns };
}

async function call(worker: ChildProcess): Promise<unknown> {
  const answer = once(worker, 'message');
  worker.send('call');
  return (await answer)[0];
}

if (import.meta.main) {
  const [rounds = 200, processes = 3] = process.argv.slice(2).map(Number);
  const start = performance.now();
  const { failures, refreshes, lost, stale, signIns } = await shareSession(rounds, processes);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const asked = refreshes.reduce((sum, count) => sum + count, 0);
  console.log(
    `${processes} processes, ${rounds} rounds, ${seconds} s: ${rounds * processes - failures.length} of ${rounds * processes} calls answered, ` +
      `${asked} requests for ${rounds} refreshes, ${lost} answers lost, ${stale} stale refresh tokens, ${signIns} sign-ins`,
  );
  process.exitCode = failures.length + stale + signIns === 0 ? 0 : 1;
}
