/** Token status lists: revoked tokens are published within a second, and no others. */
import { inflateSync } from 'node:zlib';
import { compactVerify, createLocalJWKSet } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthorizationServer } from '../src/index.ts';
import {
  ACCOUNT,
  basic,
  CLIENTS,
  claimsOf,
  ISSUER,
  MASTER_KEY,
  RESOURCES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';
import { requestOf, setScene, VERIFIER } from './visitor.ts';

interface Reference {
  readonly idx: number;
  readonly uri: string;
}

const published = { statusLists: true } as const;

function referenceOf(token: unknown): Reference {
  const { status } = claimsOf(token) as { readonly status?: { readonly status_list: Reference } };
  if (status === undefined) throw new Error('the token names no list');
  return status.status_list;
}

/** The status of a token, as read by any holder of the issuer's keys. */
async function statusOf(t: Pick<ServerUnderTest, 'server'>, token: unknown): Promise<number> {
  const { idx, uri } = referenceOf(token);
  const response = await t.server.handle(new Request(uri));
  const keys = createLocalJWKSet(await t.server.jwks());
  const { payload, protectedHeader } = await compactVerify(await response.text(), keys);
  expect(protectedHeader.typ).toBe('statuslist+jwt');
  const claims = JSON.parse(new TextDecoder().decode(payload));
  expect(claims).toMatchObject({ iss: ISSUER, sub: uri, ttl: 5, status_list: { bits: 1 } });
  const bits = inflateSync(Buffer.from(claims.status_list.lst, 'base64url'));
  expect(bits.length * 8).toBe(2 ** 20);
  return ((bits[idx >> 3] ?? 0) >> (idx & 7)) & 1;
}

const isLive = ({ server }: ServerUnderTest, token: unknown) => server.isLive(claimsOf(token) as never);

/** The same server as if in another process. */
async function startElsewhere(t: ServerUnderTest): Promise<ServerUnderTest> {
  const server = await createAuthorizationServer({
    issuer: ISSUER,
    store: t.store,
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    clock: () => t.clock.now,
    ...published,
  });
  onTestFinished(() => server.close());
  return {
    ...t,
    server,
    async post(path, form, headers = {}) {
      const body = new URLSearchParams(form as Record<string, string>);
      const response = await server.handle(
        new Request(new URL(path, ISSUER), { method: 'POST', headers, body }),
      );
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: JSON.parse(text || '{}') };
    },
  };
}

/** Waits for background work of a request. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 10));

/** @returns its secret */
async function addBackupClient({ server }: ServerUnderTest): Promise<string> {
  const added = await server.clients.add({
    client_id: 'backup',
    grant_types: ['client_credentials'],
    scope: 'notes:read',
    token_endpoint_auth_method: 'client_secret_basic',
  });
  return String(added['client_secret']);
}

/** The token of an application that acts for itself. */
async function ownToken(t: ServerUnderTest, id = 'nightly', secret = 'nightly-secret'): Promise<string> {
  const { body } = await t.post('/token', { grant_type: 'client_credentials' }, basic(id, secret));
  return String(body['access_token']);
}

/** Signs in through the pages, as users do. */
async function signInByPages(t: Awaited<ReturnType<typeof setScene>>): Promise<string> {
  const sight = await t.visitor.signIn(requestOf({ scope: 'notes:read', state: crypto.randomUUID() }));
  const { left } = sight.left === null ? await t.visitor.submit(sight, { decision: 'allow' }) : sight;
  const { body } = await t.post('/token', {
    ...redemption(left?.searchParams.get('code') ?? '', VERIFIER, 'web'),
    client_secret: 'web-secret',
    redirect_uri: 'https://app.example/callback',
  });
  return String(body['access_token']);
}

describe('a server without status lists', () => {
  it('a server publishes no status lists by default', async () => {
    const t = await startServer();
    expect(claimsOf((await t.signIn()).body['access_token'])['status']).toBeUndefined();
    expect((await t.send('/status-lists')).status).toBe(404);
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body).not.toHaveProperty('status_list_aggregation_endpoint');
  });

  it('startup rejects token lifetimes too long for status lists', async () => {
    const started = startServer({ ...published, lifetimes: { accessToken: 43_201 } });
    await expect(started).rejects.toThrow(
      'statusLists must be false with lifetimes.accessToken above 43200 seconds',
    );
  });
});

describe('a published list', () => {
  it('the status list is public, cacheable for a second, and named by the metadata', async () => {
    const t = await startServer(published);
    const { body } = await t.signIn();
    const { uri } = referenceOf(body['access_token']);
    const list = await t.send(uri);
    expect(list.status).toBe(200);
    expect(list.headers.get('content-type')).toBe('application/statuslist+jwt');
    expect(list.headers.get('cache-control')).toBe('public, max-age=1');
    expect(list.headers.get('access-control-allow-origin')).toBe('*');
    const metadata = await t.send('/.well-known/oauth-authorization-server');
    const all = await t.send(String(metadata.body['status_list_aggregation_endpoint']));
    expect(all.body).toEqual({ status_lists: [uri] });
  });

  it.each(['/status-lists/1', '/status-lists/00', '/status-lists/x', '/status-lists/0/0', '/status-lists/'])(
    'serves no status list at %s',
    async (path) => {
      const t = await startServer(published);
      await t.signIn();
      expect((await t.send('/status-lists/0')).status).toBe(200);
      expect((await t.send(path)).status).toBe(404);
    },
  );

  it('the current status list is no response to a request for that of another time', async () => {
    const t = await startServer(published);
    const statusOf = async (path: string) => (await t.server.handle(new Request(`${ISSUER}${path}`))).status;
    expect(await statusOf('/status-lists/0?time=1686925000')).toBe(501);
    expect(await statusOf('/status-lists/0?times=1')).toBe(200);
  });

  it('the status list changes once a second, and says when it was issued', async () => {
    const t = await startServer(published);
    const [{ body }, bystander] = [await t.signIn(), await t.signIn()];
    const token = body['access_token'];
    expect(await statusOf(t, token)).toBe(0);
    await t.post('/revoke', { token: String(body['refresh_token']), client_id: 'desktop' });
    t.clock.now += 1;
    expect(await statusOf(t, token)).toBe(1);
    expect(await statusOf(t, bystander.body['access_token'])).toBe(0);
    const { uri } = referenceOf(token);
    const [one, two] = [await t.send(uri), await t.send(uri)];
    expect(one.text).toBe(two.text);
    expect(claimsOf(one.text)).toMatchObject({ iat: t.clock.now, exp: t.clock.now + 600 });
  });

  it('the status list is unavailable during a store outage, and available afterwards', async () => {
    const t = await startServer(published);
    const { uri } = referenceOf((await t.signIn()).body['access_token']);
    expect((await t.send(uri)).status).toBe(200);
    t.clock.now += 1;
    t.execute('ALTER TABLE status_indexes RENAME TO elsewhere');
    expect((await t.send(uri)).status).toBeGreaterThanOrEqual(500);
    t.execute('ALTER TABLE elsewhere RENAME TO status_indexes');
    expect((await t.send(uri)).status).toBe(200);
  });
});

describe('publishing revoked tokens', () => {
  it.each<[string, (t: ServerUnderTest, body: Readonly<Record<string, unknown>>) => Promise<unknown>]>([
    [
      'its refresh token is revoked',
      (t, body) => t.post('/revoke', { token: String(body['refresh_token']), client_id: 'desktop' }),
    ],
    [
      'it is revoked itself',
      (t, body) => t.post('/revoke', { token: String(body['access_token']), client_id: 'desktop' }),
    ],
    [
      'an old refresh token is reused',
      async (t, body) => {
        const successor = await t.post('/token', refreshing(body['refresh_token']));
        await t.post('/token', refreshing(successor.body['refresh_token']));
        await t.post('/token', refreshing(body['refresh_token']));
      },
    ],
    [
      'the user revokes the connection',
      (t, body) =>
        t.store.revokeAccountGrants(ACCOUNT, String(claimsOf(body['access_token'])['grant_id']), t.clock.now),
    ],
    ['an administrator disables the account', (t) => t.server.accounts.disable('ada@example.org')],
  ])('[S-VAL-3] T095 publishes the revocation when %s', async (_how, end) => {
    const t = await startServer(published);
    const { body } = await t.signIn();
    const active = await ownToken(t);
    t.clock.now += 1;
    expect([await statusOf(t, body['access_token']), await isLive(t, body['access_token'])]).toEqual([
      0,
      true,
    ]);
    await end(t, body);
    t.clock.now += 1;
    expect([await statusOf(t, body['access_token']), await isLive(t, body['access_token'])]).toEqual([
      1,
      false,
    ]);
    expect([await statusOf(t, active), await isLive(t, active)]).toEqual([0, true]);
  });

  it.each(['disable', 'remove'] as const)(
    'T095 publishes the revocation when an administrator chooses to %s the client',
    async (act) => {
      const t = await startServer(published);
      const metadata = {
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_basic',
      };
      const added = await t.server.clients.add(metadata);
      const [id, secret] = [String(added['client_id']), String(added['client_secret'])];
      const [token, active] = [await ownToken(t, id, secret), await ownToken(t)];
      expect(await statusOf(t, token)).toBe(0);
      await t.server.clients[act](id);
      t.clock.now += 1;
      expect([await statusOf(t, token), await isLive(t, token)]).toEqual([1, false]);
      expect([await statusOf(t, active), await isLive(t, active)]).toEqual([0, true]);
    },
  );

  it('publishes the revocation of one token alone, and later tokens get other entries', async () => {
    const t = await startServer(published);
    const tokens = await Promise.all(Array.from({ length: 4 }, () => ownToken(t)));
    const [revoked, ...others] = tokens;
    await t.post('/revoke', { token: String(revoked) }, basic('nightly', 'nightly-secret'));
    const later = await Promise.all(Array.from({ length: 20 }, () => ownToken(t)));
    t.clock.now += 1;
    expect(await statusOf(t, revoked)).toBe(1);
    for (const token of [...others, ...later]) expect(await statusOf(t, token)).toBe(0);
  });

  it('publishes a revocation until the token has expired for every guard', async () => {
    const t = await startServer(published);
    const { body } = await t.signIn();
    await t.post('/revoke', { token: String(body['refresh_token']), client_id: 'desktop' });
    t.clock.now += 600 + 600;
    expect(await statusOf(t, body['access_token'])).toBe(1);
  });
});

describe('a status list entry', () => {
  it('each grant gets its own status list entry', async () => {
    const t = await setScene(published);
    const tokens = [await signInByPages(t), await signInByPages(t), await signInByPages(t)];
    const places = tokens.map((token) => Math.floor(referenceOf(token).idx / 8));
    expect(new Set(places).size).toBe(3);
    await t.store.revokeAccountGrants(ACCOUNT, String(claimsOf(tokens[0])['grant_id']), t.clock.now);
    t.clock.now += 1;
    expect(await Promise.all(tokens.map((token) => statusOf(t, token)))).toEqual([1, 0, 0]);
  });

  it('older grants and client credentials get a status list entry', async () => {
    const t = await startServer(published);
    const [one, two] = [await t.signIn(), await t.signIn()];
    const { body } = await t.post('/token', refreshing(one.body['refresh_token']));
    const placeOf = (token: unknown) => Math.floor(referenceOf(token).idx / 8);
    expect(placeOf(body['access_token'])).toBe(placeOf(one.body['access_token']));
    expect(placeOf(two.body['access_token'])).not.toBe(placeOf(one.body['access_token']));
    const [own, again] = [await ownToken(t), await ownToken(t)];
    expect(placeOf(own)).toBe(placeOf(again));
    expect(referenceOf(own).idx).not.toBe(referenceOf(again).idx);
  });

  it('T143: a client that was disabled and enabled gets another status list entry, and tokens from before stay revoked', async () => {
    const t = await startServer(published);
    const secret = await addBackupClient(t);
    const before = await ownToken(t, 'backup', secret);
    await t.server.clients.disable('backup');
    t.clock.now += 1;
    await t.server.clients.enable('backup');
    const after = await ownToken(t, 'backup', secret);
    t.clock.now += 1;
    expect([await statusOf(t, before), await statusOf(t, after)]).toEqual([1, 0]);
  });

  it('T143: a token of the second in which its client was disabled and enabled leaves those after it valid', async () => {
    const t = await startServer(published);
    const secret = await addBackupClient(t);
    await t.server.clients.disable('backup');
    await t.server.clients.enable('backup');
    await ownToken(t, 'backup', secret);
    t.clock.now += 1;
    const after = await ownToken(t, 'backup', secret);
    expect([await isLive(t, after), await statusOf(t, after)]).toEqual([true, 0]);
  });

  it('a new list starts when one is full', async () => {
    const t = await startServer(published);
    t.execute('INSERT INTO status_index_counter (one, allocated) VALUES (1, 130816)');
    const [last, first] = [await t.signIn(), await ownToken(t)];
    expect(referenceOf(last.body['access_token']).uri).toBe(`${ISSUER}/status-lists/0`);
    t.execute('UPDATE status_index_counter SET allocated = 131072');
    const next = await startServer({ ...published, store: t.store });
    const token = (await next.signIn()).body['access_token'];
    expect(referenceOf(token).uri).toBe(`${ISSUER}/status-lists/1`);
    await next.store.revokeAccountGrants(ACCOUNT, String(claimsOf(token)['grant_id']), next.clock.now);
    next.clock.now += 1;
    expect(await statusOf(next, token)).toBe(1);
    expect([await statusOf(next, last.body['access_token']), await statusOf(next, first)]).toEqual([0, 0]);
    const all = await next.send('/status-lists');
    expect(all.body).toEqual({ status_lists: [0, 1].map((list) => `${ISSUER}/status-lists/${list}`) });
  });

  it('processes on one store share no entry, and publish the same lists', async () => {
    const t = await startServer(published);
    const elsewhere = await startElsewhere(t);
    const { code, verifier } = await t.issueCode();
    const { body: there } = await elsewhere.post('/token', redemption(code, verifier));
    const { body: here } = await t.signIn();
    const token = here['access_token'];
    expect(referenceOf(token).idx).not.toBe(referenceOf(there['access_token']).idx);
    await elsewhere.post('/revoke', { token: String(there['refresh_token']), client_id: 'desktop' });
    t.clock.now += 1;
    for (const one of [t, elsewhere]) {
      expect([await statusOf(one, there['access_token']), await statusOf(one, token)]).toEqual([1, 0]);
    }
  });
});

describe('a new token with status lists', () => {
  const giveBack = (t: ServerUnderTest, token: unknown) =>
    t.post('/revoke', { token: String(token) }, basic('nightly', 'nightly-secret'));

  it('a new token is valid, however many before it were revoked', async () => {
    const t = await startServer(published);
    const former: string[] = [];
    for (let round = 0; round < 40; round += 1) {
      const token = await ownToken(t);
      t.clock.now += 1;
      expect([round, await statusOf(t, token)]).toEqual([round, 0]);
      await giveBack(t, token);
      former.push(token);
    }
    t.clock.now += 1;
    expect(await Promise.all(former.map((token) => statusOf(t, token)))).toEqual(Array(40).fill(1));
    expect(new Set(former.map((token) => referenceOf(token).idx)).size).toBe(40);
  });

  it('a new token is valid at a guard that still uses a list from before its entry was freed', async () => {
    const t = await startServer(published);
    const revoked = await ownToken(t);
    await giveBack(t, revoked);
    const { idx } = referenceOf(revoked);
    for (let passed = 0; passed < 1200 + 60; passed += 20) {
      t.clock.now += 20;
      await statusOf(t, revoked);
    }
    expect(await statusOf(t, revoked)).toBe(0);
    const entriesOf = async () => {
      const tokens = await Promise.all(Array.from({ length: 16 }, () => ownToken(t)));
      return new Set(tokens.map((token) => referenceOf(token).idx));
    };
    expect(await entriesOf()).not.toContain(idx);
    t.clock.now += 100;
    await statusOf(t, revoked);
    expect((await entriesOf()).size).toBe(8);
  });

  it('every new token of a grant is valid, and all end with it', async () => {
    const t = await setScene(published);
    const { body } = await t.signIn();
    let refreshToken = body['refresh_token'];
    let last = body['access_token'];
    const given: unknown[] = [];
    for (let round = 0; round < 10; round += 1) {
      await t.post('/revoke', { token: String(last), client_id: 'desktop' });
      const next = await t.post('/token', refreshing(refreshToken));
      refreshToken = next.body['refresh_token'];
      last = next.body['access_token'];
      given.push(last);
      t.clock.now += 1;
      expect([round, await statusOf(t, last)]).toEqual([round, 0]);
    }
    await t.store.revokeAccountGrants(ACCOUNT, String(claimsOf(last)['grant_id']), t.clock.now);
    t.clock.now += 1;
    expect(await Promise.all(given.map((token) => statusOf(t, token)))).toEqual(Array(10).fill(1));
  });

  it('a new token is valid in a process that has just started, and in one beside it', async () => {
    const t = await startServer(published);
    const running = await startElsewhere(t);
    await ownToken(running);
    const [revoked, ...active] = await Promise.all(Array.from({ length: 8 }, () => ownToken(t)));
    await giveBack(t, revoked);
    const started = await startElsewhere(t);
    t.clock.now += 1;
    await ownToken(running);
    await settle();
    for (const process of [started, running]) {
      const tokens = await Promise.all(Array.from({ length: 16 }, () => ownToken(process)));
      t.clock.now += 1;
      const statuses = [...active, ...tokens].map((token) => statusOf(process, token));
      expect(await Promise.all(statuses)).toEqual(Array(23).fill(0));
      expect(await statusOf(process, revoked)).toBe(1);
    }
  });

  it('issuing a token does not wait for a slow store, except for the first', async () => {
    const t = await startServer(published);
    await ownToken(t);
    t.clock.now += 1;
    t.execute('ALTER TABLE provider_tokens RENAME TO elsewhere');
    expect(await statusOf({ server: t.server }, await ownToken(t)).catch(() => 'no list')).toBe('no list');
    t.execute('ALTER TABLE elsewhere RENAME TO provider_tokens');
    expect(await statusOf(t, await ownToken(t))).toBe(0);
  });
});

describe('reading revocations from the store', () => {
  async function three() {
    const t = await startServer(published);
    const bodies = [(await t.signIn()).body, (await t.signIn()).body, (await t.signIn()).body];
    const tokens = bodies.map((body) => body['access_token']);
    const statuses = () => Promise.all(tokens.map((token) => statusOf(t, token)));
    const end = (which: number, at: number) =>
      t.execute(
        `UPDATE grants SET revoked_at = ${at} WHERE id = '${String(claimsOf(tokens[which])['grant_id'])}'`,
      );
    expect(await statuses()).toEqual([0, 0, 0]);
    t.clock.now += 1;
    return { t, statuses, end };
  }

  it('finds revocations by a process whose clock is two minutes slow, and keeps them', async () => {
    const { t, statuses, end } = await three();
    end(1, t.clock.now - 120);
    expect(await statuses()).toEqual([0, 1, 0]);
    for (const later of [1, 30, 90, 200, 500]) {
      t.clock.now += later;
      expect(await statuses()).toEqual([0, 1, 0]);
    }
  });

  it('finds within a minute revocations by a process whose clock is an hour slow', async () => {
    const { t, statuses, end } = await three();
    end(1, t.clock.now - 3600);
    t.clock.now += 59;
    expect(await statuses()).toEqual([0, 1, 0]);
  });

  it('finds revocations by a process whose clock is fast, also when our own clock goes back', async () => {
    const { t, statuses, end } = await three();
    end(0, t.clock.now + 500);
    expect(await statuses()).toEqual([1, 0, 0]);
    t.clock.now -= 300;
    end(2, t.clock.now);
    expect(await statuses()).toEqual([1, 0, 1]);
  });

  it('a slow read of revocations serves no request that came after it was out of date', async () => {
    const t = await startServer(published);
    const token = (await t.signIn()).body['access_token'];
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let looks = 0;
    const listEnded: typeof t.store.listRevokedAccess = async (since, now) => {
      const found = await t.store.listRevokedAccess(since, now);
      looks += 1;
      if (looks === 1) await held;
      return found;
    };
    const slow = await startServer({ ...published, store: { ...t.store, listRevokedAccess: listEnded } });
    slow.clock.now = t.clock.now;
    const first = statusOf(slow, token);
    await expect.poll(() => looks).toBe(1);
    await t.store.revokeAccountGrants(ACCOUNT, String(claimsOf(token)['grant_id']), t.clock.now);
    slow.clock.now += 2;
    const [one, other] = [statusOf(slow, token), statusOf(slow, token)];
    await settle();
    go();
    expect([await first, await one, await other]).toEqual([0, 1, 1]);
    expect(looks).toBe(2);
  });

  it('a failed read of revocations is made up for by the next one', async () => {
    const { t, statuses, end } = await three();
    end(0, t.clock.now);
    t.execute('ALTER TABLE provider_tokens RENAME TO elsewhere');
    await expect(statuses()).rejects.toThrow();
    t.execute('ALTER TABLE elsewhere RENAME TO provider_tokens');
    t.clock.now += 40;
    expect(await statuses()).toEqual([1, 0, 0]);
  });
});
