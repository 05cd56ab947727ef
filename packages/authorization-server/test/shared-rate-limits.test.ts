/** Rate limits shared by servers on one store, at no cost for keys far below their limit. */

import { describe, expect, it } from 'vitest';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
} from '../src/index.ts';
import { createFailureLimiter, createLockout, createRateLimiter } from '../src/rate-limit/limiter.ts';
import { createLoginThrottle } from '../src/rate-limit/login-throttle.ts';
import { defaultRateLimits } from '../src/rate-limit/policies.ts';
import {
  basic,
  CLIENTS,
  ISSUER,
  MASTER_KEY,
  RESOURCES,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const RIGHT = basic('nightly', 'nightly-secret');
const WRONG = basic('nightly', 'wrong');
const MACHINE = { grant_type: 'client_credentials' };
const HOME = '192.0.2.1';

/** Two servers on one store, of which the first is the one that the test sets up. */
async function startTwo(limits: AuthorizationServerOptions['rateLimits'] = {}) {
  const t = await startServer({ rateLimits: limits });
  const other = await createAuthorizationServer({
    issuer: ISSUER,
    store: t.store,
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    clock: () => t.clock.now,
    rateLimits: limits,
  });
  return { t, servers: [t.server, other] as const };
}

async function post(
  server: AuthorizationServer,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
  address: string = HOME,
) {
  const init = { method: 'POST', headers, body: new URLSearchParams(form) };
  const response = await server.handle(new Request(`${ISSUER}/token`, init), { address });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body };
}

describe('wrong client secrets over several processes', () => {
  it('[AS-AUTH-64 AS-TOK-76] wrong secrets are counted over all processes, and only for the client at that network', async () => {
    const { t, servers } = await startTwo();
    for (let count = 0; count < 10; count++) {
      const server = servers[count % 2] ?? t.server;
      expect((await post(server, MACHINE, WRONG)).status).toBe(401);
    }
    const before = t.snapshot();
    for (const server of servers) {
      const { status, retryAfter, body } = await post(server, MACHINE, RIGHT);
      expect([status, retryAfter, body['error']]).toEqual([429, '10', 'temporarily_unavailable']);
    }
    expect(t.snapshot()).toBe(before);
    for (const server of servers) {
      expect((await post(server, MACHINE, RIGHT, '198.51.100.1')).status).toBe(200);
      const another = basic('notes-server', 'notes-server-secret');
      expect((await post(server, MACHINE, another)).status).toBe(200);
    }
    t.clock.now += 10;
    expect((await post(servers[1], MACHINE, RIGHT)).status).toBe(200);
  });

  it('[AS-AUTH-64] concurrent wrong secrets allow no more guesses at once than in a row, and none beyond the limit succeeds', async () => {
    const { t } = await startTwo();
    const guesses = Array.from({ length: 100 }, (_, index) =>
      post(t.server, MACHINE, index === 99 ? RIGHT : WRONG),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.at(-1)).not.toBe(200);
    expect((await post(t.server, MACHINE, RIGHT)).status).toBe(429);
  });

  it('wrong secrets in one process do not stop a client that authenticated in another', async () => {
    const { t, servers } = await startTwo();
    expect((await post(servers[1], MACHINE, RIGHT)).status).toBe(200);
    for (let count = 0; count < 15; count++) await post(servers[0], MACHINE, WRONG);
    expect((await post(servers[0], MACHINE, RIGHT)).status).toBe(429);
    expect((await post(servers[1], MACHINE, RIGHT)).status).toBe(200);
    t.clock.now += 10;
    expect((await post(servers[0], MACHINE, RIGHT)).status).toBe(200);
  });
});

describe('refreshes of one grant', () => {
  it('[AS-TOK-76] refreshes of one grant are limited over all processes, give or take one unsettled batch each', async () => {
    const { t, servers } = await startTwo({ refreshes: { burst: 20, perMinute: 6 } });
    let { refresh_token: token } = (await t.signIn()).body;
    const { refresh_token: theirs } = (await t.signIn()).body;
    let served = 0;
    for (let count = 0; count < 60; count++) {
      const server = servers[count % 2] ?? t.server;
      const answer = await post(server, refreshing(token));
      if (answer.status === 429) {
        expect(answer.body['error']).toBe('temporarily_unavailable');
        expect(Number(answer.retryAfter)).toBeGreaterThan(0);
        continue;
      }
      expect(answer.status).toBe(200);
      served += 1;
      token = answer.body['refresh_token'];
    }
    expect(served).toBeGreaterThanOrEqual(20);
    expect(served).toBeLessThanOrEqual(20 + 2 * 2);
    // Another grant of the same client, from the same address, is another matter.
    for (const server of servers) expect((await post(server, refreshing(theirs))).status).toBe(200);
    t.clock.now += 60;
    expect((await post(servers[1], refreshing(token))).status).toBe(200);
  });
});

describe('a shared rate limiter', () => {
  const rate = { burst: 100, perMinute: 60 };

  function counting(t: ServerUnderTest) {
    let asked = 0;
    const store = {
      ...t.store,
      chargeRateLimit: (...charge: Parameters<ServerUnderTest['store']['chargeRateLimit']>) => {
        asked += 1;
        return t.store.chargeRateLimit(...charge);
      },
    };
    return { store, clock: () => t.clock.now, asked: () => asked };
  }

  it('a shared rate limiter settles with the store once per tenth of the burst, and never below that', async () => {
    const t = await startServer();
    const { asked, ...configuration } = counting(t);
    const shared = createRateLimiter(configuration, 'test', rate);
    for (let count = 0; count < 9; count++) expect(shared.take('calm')).toBe(0);
    expect(asked()).toBe(0);
    for (let count = 0; count < 100; count++) expect(await shared.take('busy')).toBe(0);
    expect(asked()).toBe(10);
    expect(await shared.take('busy')).toBe(1);
  });

  it('a shared rate limiter blocks what other processes have used up, without asking the store again', async () => {
    const t = await startServer();
    const { asked, ...configuration } = counting(t);
    const [one, other] = [1, 2].map(() => createRateLimiter(configuration, 'test', rate));
    for (let count = 0; count < 100; count++) await one?.take('busy');
    for (let count = 0; count < 9; count++) expect(await other?.take('busy')).toBe(0);
    const before = asked();
    const wait = Number(await other?.take('busy'));
    expect([wait > 0, asked()]).toEqual([true, before + 1]);
    for (let count = 0; count < 50; count++) expect(await other?.take('busy')).toBe(wait);
    expect(asked()).toBe(before + 1);
    t.clock.now += wait;
    expect(await other?.take('busy')).toBe(0);
  });

  it('a shared limiter of failures blocks a key whose failures other processes have counted', async () => {
    const t = await startServer();
    const { asked, ...configuration } = counting(t);
    const shared = { burst: 3, perMinute: 1 };
    const create = () =>
      createFailureLimiter(configuration, 'test', createLockout(generous, configuration.clock), shared);
    const [one, other] = [create(), create()];
    for (let count = 0; count < 3; count++) await one.failed('guessed');
    expect(other.waitOf('guessed')).toBe(0);
    await other.failed('guessed');
    const before = asked();
    expect(other.waitOf('guessed')).toBeGreaterThan(0);
    expect([other.waitOf('calm'), asked()]).toEqual([0, before]);
    t.clock.now += other.waitOf('guessed');
    expect(other.waitOf('guessed')).toBe(0);
  });

  const generous = { free: 100, firstPause: 1, maxPause: 1, forgetAfter: 3600 };

  it('a shared rate limiter limits each process by itself while the store is unavailable', async () => {
    const t = await startServer();
    const away = { ...t.store, chargeRateLimit: () => Promise.reject(new Error('away')) };
    const shared = createRateLimiter({ store: away, clock: () => t.clock.now }, 'test', rate);
    for (let count = 0; count < 100; count++) expect(await shared.take('busy')).toBe(0);
    expect(await shared.take('busy')).toBe(1);
  });
});

describe('a server that takes the place of another in its process', () => {
  it('goes on with what that one has counted, which a server of another process does not know', async () => {
    const t = await startServer({ rateLimits: { clientTokens: { burst: 3, perMinute: 1 } } });
    const options = {
      issuer: ISSUER,
      // What is counted in the process only.
      store: { ...t.store, chargeRateLimit: () => Promise.reject(new Error('away')) },
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now,
      rateLimits: { clientTokens: { burst: 3, perMinute: 1 } },
    };
    const statusAt = async (server: AuthorizationServer) => {
      const body = new URLSearchParams(MACHINE);
      const request = new Request(`${ISSUER}/token`, {
        method: 'POST',
        headers: RIGHT,
        body,
      });
      return (await server.handle(request, { address: HOME })).status;
    };
    const first = await createAuthorizationServer(options);
    for (const status of [200, 200, 200, 429]) expect(await statusAt(first)).toBe(status);
    const second = await createAuthorizationServer({ ...options, resources: RESOURCES.slice(0, 1) }, first);
    expect(await statusAt(second)).toBe(429);
    expect(await statusAt(await createAuthorizationServer(options, second))).toBe(429);
    expect(await statusAt(await createAuthorizationServer(options))).toBe(200);
    t.clock.now += 60;
    expect([await statusAt(second), await statusAt(first)]).toEqual([200, 429]);
  });
});

describe('guesses at one account over several processes', () => {
  it('T075: guesses at one account from any network are throttled over all processes; the owner still gets in where they are known', async () => {
    const t = await startServer();
    const context = { store: t.store, options: { rateLimits: defaultRateLimits }, clock: () => t.clock.now };
    const processes = Array.from({ length: 5 }, () => createLoginThrottle(context, 'password'));
    const tryAt = async (index: number, account: string, address: string, isRight = false) => {
      const attempt = await processes[index]?.({ account, connection: { address } }, async () => isRight);
      return attempt?.kind;
    };
    await tryAt(0, 'ada', HOME, true);
    let tried = 0;
    for (let count = 0; count < 500; count++) {
      const kind = await tryAt(count % 5, 'ada', `198.51.${100 + (count >> 7)}.${count & 127}`);
      if (kind === 'verified') tried += 1;
    }
    // Alone, each would allow thirty.
    expect(tried).toBeGreaterThanOrEqual(100);
    expect(tried).toBeLessThanOrEqual(100 + 5);
    expect(await tryAt(1, 'ada', '203.0.113.9')).toBe('throttled');
    expect(await tryAt(1, 'bob', '203.0.113.9')).toBe('verified');
    expect(await tryAt(0, 'ada', HOME)).toBe('verified');
  });
});
