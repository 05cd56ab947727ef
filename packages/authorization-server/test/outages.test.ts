/** Every route during a store outage: 503 with Retry-After, never 401 or 500; afterwards all of them work without a restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@portcullis/store';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGithub } from '../../../tests/support/identity-providers/github.ts';
import { startServer as startPostgres } from '../../../tests/support/postgres.ts';
import { plain, startProvider } from './federation-scene.ts';
import { type Prepared, prepareOwnPages, setDesk } from './outage-requests.ts';
import { ISSUER } from './server-under-test.ts';

/** A store that can be made unavailable and available again. */
interface Away {
  readonly name: string;
  /** The store's remaining capabilities during the outage. */
  readonly stillReads: boolean;
  prepare(): Promise<{ readonly location: string; begin(): Promise<void>; end(): Promise<void> }>;
}

const stopped: Away = {
  name: 'PostgreSQL is stopped',
  stillReads: false,
  async prepare() {
    const postgres = await startPostgres();
    onTestFinished(postgres.stop);
    return { location: postgres.url, begin: postgres.halt, end: postgres.resume };
  },
};

const locked: Away = {
  name: 'the file of SQLite is locked',
  stillReads: true,
  async prepare() {
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const location = join(folder, 'store.db');
    let holder: DatabaseSync | undefined;
    const end = async () => {
      holder?.close();
      holder = undefined;
    };
    onTestFinished(end);
    return {
      location,
      async begin() {
        holder = new DatabaseSync(location);
        holder.exec('BEGIN IMMEDIATE');
      },
      end,
    };
  },
};

describe.each([stopped, locked])('while $name', ({ prepare, stillReads }) => {
  it('[AS-REVOKE-64] T139: every route of a server answers 503 with Retry-After, and works afterwards', async () => {
    const { location, begin, end } = await prepare();
    // Short where each query waits for a lock, and long where connections must be re-established.
    const store = await openStore(location, { busyTimeout: stillReads ? 0.3 : 5 });
    const desk = await setDesk(store, {
      identityProviders: [plain(await startProvider(startGithub, 'hub'))],
    });
    await prepareOwnPages(desk);
    const { scene, prepared } = desk;
    const routes = scene.server.routes.map(({ method, path }) => `${method} ${path}`);
    expect([...new Set(prepared.map(({ route }) => route))].toSorted()).toEqual(routes.toSorted());
    const ask = async ({ request, well, route, takes }: Prepared) => {
      const response = await scene.server.handle(request.clone(), { address: '203.0.113.1' });
      return { route, takes, well, ...(await describeAnswer(response)) };
    };

    await begin();
    const meanwhile = await Promise.all(prepared.map(ask));
    await end();
    expect(meanwhile).toEqual(prepared.map((one) => expectedOf(one, stillReads)));

    const afterwards: object[] = [];
    for (const one of prepared) afterwards.push(await ask(one));
    expect(afterwards).toEqual(prepared.map(wellOf));
  });
});

/** An error redirect has the error in its query. @see RFC 6749 §4.1.2.1 */
async function describeAnswer({ status, headers }: Response): Promise<object> {
  const location = headers.get('location');
  const error = location === null ? null : new URL(location, ISSUER).searchParams.get('error');
  return { status, retryAfter: headers.get('retry-after'), error };
}

function wellOf({ route, takes, well }: Prepared): object {
  const isRefused = expect.toBeOneOf([null, 'access_denied']);
  return { route, takes, well, status: well, retryAfter: null, error: isRefused };
}

function expectedOf(one: Prepared, stillReads: boolean): unknown {
  const { route, takes, well } = one;
  if (takes === 'nothing' || (takes === 'reading' && stillReads)) return wellOf(one);
  const seconds = expect.stringMatching(/^[1-9]\d?$/);
  return expect.toBeOneOf([
    expect.objectContaining({ route, takes, well, status: 503, retryAfter: seconds, error: null }),
    expect.objectContaining({ route, takes, well, status: 303, error: 'temporarily_unavailable' }),
  ]);
}
