/** Lifetime of registrations: expiry, caps against floods, initial access tokens, registered scope. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { type AuthorizationServerOptions, createAuthorizationServer } from '../src/index.ts';
import {
  CALLBACK,
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
import { decide, EMAIL, PASSWORD, requestOf, setScene, textOf } from './visitor.ts';

const DAY = 86_400;
/** For so long after its end a client that was never used is still there. */
const HOUR = 3600;
const METADATA = {
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};

async function registerClient(t: ServerUnderTest, more: object = {}): Promise<string> {
  const { status, body } = await t.register({ ...METADATA, ...more });
  expect(status).toBe(201);
  return String(body['client_id']);
}

async function sweep(t: ServerUnderTest): Promise<void> {
  while ((await t.store.sweep(t.clock.now, 100)) > 0);
}

async function isKnown(t: ServerUnderTest, id: string): Promise<boolean> {
  return (await t.store.findClient(id)) !== null;
}

describe('the lifetime of a registration', () => {
  it('[AS-DCR-73] T043 T143: deletes a registration that is never used after a day', async () => {
    const t = await startServer();
    const id = await registerClient(t);
    t.clock.now += DAY - 1;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(true);
    t.clock.now += HOUR;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(true);
    t.clock.now += 1;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(false);
  });

  it('[AS-DCR-73] T143: an expired registration starts no authorization, but may finish one it started before', async () => {
    const t = await setScene();
    const { body } = await t.register({ ...METADATA, token_endpoint_auth_method: 'client_secret_post' });
    const [id, client_secret] = [String(body['client_id']), String(body['client_secret'])];
    const late = t.newVisitor();
    t.clock.now += DAY - 1;
    const login = await late.open(requestOf({ client_id: id }));
    expect(login.path).toMatch(/^\/login/);
    const { code, verifier } = await t.issueCode({ clientId: id, redirectUri: CALLBACK });
    t.clock.now += 50;
    await sweep(t);
    // A login in progress continues; a new authorization request is rejected as of an unknown client.
    const before = t.snapshot();
    const refused = await t.newVisitor().open(requestOf({ client_id: id }));
    expect(refused.status).toBe(400);
    expect(t.snapshot()).toBe(before);
    expect((await late.submit(login, { email: EMAIL, password: PASSWORD })).path).toMatch(/^\/consent/);
    const tokens = await t.post('/token', { ...redemption(code, verifier, id), client_secret });
    expect(tokens.status).toBe(200);
    // And now it is used.
    expect((await t.newVisitor().open(requestOf({ client_id: id }))).path).toMatch(/^\/login/);
    t.clock.now += DAY;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(true);
  });

  it('[AS-DCR-73] keeps a used registration for ninety days after its last use', async () => {
    const t = await startServer({ lifetimes: { refreshIdle: DAY, grant: DAY } });
    const id = await registerClient(t);
    await t.signIn({ clientId: id, redirectUri: CALLBACK });
    t.clock.now += 60 * DAY;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(true);
    const { status, body } = await t.signIn({ clientId: id, redirectUri: CALLBACK });
    expect(status).toBe(200);
    t.clock.now += DAY;
    expect((await t.post('/token', refreshing(body['refresh_token'], id))).status).toBe(400);
    t.clock.now += 89 * DAY - 1;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(true);
    t.clock.now += 1;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(false);
  });

  it('[AS-DCR-73] T043: never deletes a registration that holds a live grant', async () => {
    const t = await startServer({ lifetimes: { usedClient: DAY, refreshIdle: 400 * DAY } });
    const id = await registerClient(t);
    const { body } = await t.signIn({ clientId: id, redirectUri: CALLBACK });
    t.clock.now += 300 * DAY;
    await sweep(t);
    expect((await t.post('/token', refreshing(body['refresh_token'], id))).status).toBe(200);
    t.clock.now += 100 * DAY;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(false);
  });

  it('a client secret is valid as long as its registration', async () => {
    const t = await startServer();
    const { body } = await t.register({ ...METADATA, token_endpoint_auth_method: 'client_secret_post' });
    const [id, client_secret] = [String(body['client_id']), String(body['client_secret'])];
    expect(body['client_secret_expires_at']).toBe(0);
    const redeem = async () => {
      const { code, verifier } = await t.issueCode({ clientId: id, redirectUri: CALLBACK });
      return (await t.post('/token', { ...redemption(code, verifier, id), client_secret })).status;
    };
    for (let month = 0; month < 24; month += 1) {
      expect(await redeem()).toBe(200);
      t.clock.now += 30 * DAY;
      await sweep(t);
    }
  });

  it('records the use of a registration once a day, not at each refresh', async () => {
    const t = await startServer();
    const id = await registerClient(t);
    let { body } = await t.signIn({ clientId: id, redirectUri: CALLBACK });
    const used = async () => (await t.store.findClient(id))?.lastUsedAt;
    const first = t.clock.now;
    expect(await used()).toBe(first);
    t.clock.now += DAY - 1;
    ({ body } = await t.post('/token', refreshing(body['refresh_token'], id)));
    expect(await used()).toBe(first);
    t.clock.now += 1;
    await t.post('/token', refreshing(body['refresh_token'], id));
    expect(await used()).toBe(first + DAY);
  });

  it('requests that get no token do not extend a registration', async () => {
    const t = await setScene();
    const id = await registerClient(t);
    await t.newVisitor().open(requestOf({ client_id: id }));
    await t.post('/token', refreshing('x', id));
    t.clock.now += DAY + HOUR;
    await sweep(t);
    expect(await isKnown(t, id)).toBe(false);
  });

  it('issues the token although the use of the registration could not be recorded', async () => {
    const t = await startServer();
    const id = await registerClient(t);
    t.store.recordClientUse = () => Promise.reject(new Error('the disk is full'));
    expect((await t.signIn({ clientId: id, redirectUri: CALLBACK })).status).toBe(200);
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'request.failed', clientId: id }));
  });

  it.each([['unusedClient'], ['usedClient']])(
    'rejects an invalid lifetime of registrations: %s',
    async (name) => {
      await expect(startServer({ lifetimes: { [name]: 0 } })).rejects.toThrow(`lifetimes.${name}`);
    },
  );
});

describe('registration floods', () => {
  it('[AS-DCR-73] T043: caps unused registrations without affecting known clients, and allows new ones when some expire', async () => {
    const t = await startServer({ registration: { maxUnusedClients: 100 } });
    const known = await registerClient(t);
    const { body } = await t.signIn({ clientId: known, redirectUri: CALLBACK });
    t.clock.now += 10;
    const statuses: number[] = [];
    for (let index = 0; index < 300; index += 1) statuses.push((await t.register(METADATA)).status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(100);
    expect(statuses.filter((status) => status === 503)).toHaveLength(200);
    const before = t.snapshot();
    const refused = await t.register(METADATA);
    expect([refused.status, refused.body['error'], refused.headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '600',
    ]);
    expect(t.snapshot()).toBe(before);
    expect((await t.post('/token', refreshing(body['refresh_token'], known))).status).toBe(200);
    expect((await t.signIn({ clientId: known, redirectUri: CALLBACK })).status).toBe(200);

    t.clock.now += DAY + HOUR;
    await sweep(t);
    expect((await t.register(METADATA)).status).toBe(201);
    expect(await isKnown(t, known)).toBe(true);
  });

  it('T043: concurrent registrations never exceed the cap', async () => {
    const t = await startServer({ registration: { maxUnusedClients: 50 } });
    await Promise.all(Array.from({ length: 500 }, () => t.register(METADATA)));
    expect(await t.store.countUnusedClients()).toBeLessThanOrEqual(50);
  });

  it('T043: a failed write counts no registration, and a failed count is repeated', async () => {
    const t = await startServer({ registration: { maxUnusedClients: 1 } });
    const { countUnusedClients, registerClient } = t.store;
    const away = () => Promise.reject(temporarilyUnavailable('the store is away'));
    const before = t.snapshot();
    t.store.countUnusedClients = away;
    expect((await t.register(METADATA)).status).toBe(503);
    t.store.countUnusedClients = countUnusedClients;
    t.store.registerClient = away;
    for (const _ of [1, 2]) expect((await t.register(METADATA)).status).toBe(503);
    expect(t.snapshot()).toBe(before);
    t.store.registerClient = registerClient;
    expect((await t.register(METADATA)).status).toBe(201);
    const { status, headers } = await t.register(METADATA);
    expect([status, headers.get('retry-after')]).toEqual([503, '600']);
  });

  it('registrations rejected for another reason do not count', async () => {
    const t = await startServer({ registration: { maxUnusedClients: 1 } });
    for (let index = 0; index < 5; index += 1) await t.register({ redirect_uris: ['javascript:x'] });
    expect((await t.register(METADATA)).status).toBe(201);
  });

  describe('registration floods from one network', () => {
    const limits = { registrations: { burst: 10_000, perMinute: 10_000 } };
    const registration = { maxUnusedClients: 100 };
    /** Registers from an address; answers the status and the answer. */
    async function registerFrom(t: ServerUnderTest, address: string, token?: string, server = t.server) {
      const response = await server.handle(
        new Request(`${ISSUER}/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
          body: JSON.stringify(METADATA),
        }),
        { address },
      );
      const body = (await response.json()) as Record<string, unknown>;
      return { status: response.status, headers: response.headers, body };
    }
    /** Registers until it is refused. @returns how often that worked */
    async function flood(t: ServerUnderTest, address: (count: number) => string): Promise<number> {
      for (let count = 0; ; count += 1) {
        if ((await registerFrom(t, address(count))).status !== 201) return count;
      }
    }

    it('[AS-DCR-73] T043: one network gets only its share of the unused registrations, whichever /64 it uses', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      expect(await flood(t, (count) => `2001:db8:7:${count.toString(16)}::1`)).toBe(50);
      const before = t.snapshot();
      const { status, headers, body } = await registerFrom(t, '2001:db8:7:ffff::1');
      expect([status, headers.get('retry-after'), body['error']]).toEqual([
        429,
        '600',
        'temporarily_unavailable',
      ]);
      expect(t.snapshot()).toBe(before);
      expect(t.events.at(-1)).toMatchObject({
        reason: 'registration: unused clients: 50 of 50 belong to one site',
      });
      // The next network gets a share of what is left then, and there is always something left.
      expect(await flood(t, () => '192.0.2.1')).toBe(10);
      expect(await flood(t, () => '192.0.2.2')).toBe(8);
      expect((await registerFrom(t, '2001:db8:8::1')).status).toBe(201);
      expect((await registerFrom(t, '198.51.100.9')).status).toBe(201);
    });

    it('T043: the share of a network holds over all processes and restarts', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      await flood(t, () => '192.0.2.1');
      const restarted = await createAuthorizationServer({
        issuer: ISSUER,
        store: t.store,
        masterKey: MASTER_KEY,
        resources: RESOURCES,
        clients: CLIENTS,
        clock: () => t.clock.now,
        registration,
        rateLimits: limits,
      });
      const before = t.snapshot();
      expect((await registerFrom(t, '192.0.2.1', undefined, restarted)).status).toBe(429);
      expect(t.snapshot()).toBe(before);
      expect((await registerFrom(t, '192.0.2.2', undefined, restarted)).status).toBe(201);
      await restarted.close();
    });

    it('T043: registrations that become used do not count, so a hosted platform is not limited by them', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      for (let count = 0; count < 60; count += 1) {
        const { status, body } = await registerFrom(t, '192.0.2.1');
        expect(status).toBe(201);
        await t.signIn({ clientId: String(body['client_id']), redirectUri: CALLBACK });
        t.clock.now += 10;
      }
      expect(await flood(t, () => '192.0.2.1')).toBe(50);
      // One that becomes used no longer counts.
      for (const { id, lastUsedAt } of await t.store.listClients('', 200)) {
        if (lastUsedAt === null) await t.store.recordClientUse(id, t.clock.now, t.clock.now + DAY);
      }
      t.clock.now += 10;
      expect((await registerFrom(t, '192.0.2.1')).status).toBe(201);
    });

    it('T043: the store keeps the network only as a keyed hash', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      await registerFrom(t, '192.0.2.1');
      const [[name] = ['']] = [...(await t.store.countUnusedClientsByNetwork())];
      expect(name).toMatch(/^[A-Za-z0-9_-]{11}$/);
      expect(t.snapshot()).toContain(name);
      expect(t.snapshot()).not.toContain('192.0.2.1');
      const other = await startServer({
        registration,
        rateLimits: limits,
        masterKey: new Uint8Array(32).fill(8),
      });
      await registerFrom(other, '192.0.2.1');
      expect([...(await other.store.countUnusedClientsByNetwork()).keys()]).not.toContain(name);
    });

    it('T043: a registration with an initial access token takes nothing from the share of its network', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      await flood(t, () => '192.0.2.1');
      const { token } = await t.server.initialAccessTokens.create();
      const before = t.snapshot();
      expect((await registerFrom(t, '192.0.2.1', 'A'.repeat(43))).status).toBe(429);
      expect(t.snapshot()).toBe(before);
      expect((await registerFrom(t, '192.0.2.1', token)).status).toBe(201);
      // It is for one.
      expect((await registerFrom(t, '192.0.2.1', token)).status).toBe(429);
      for (let site = 0; site < 50; site += 1) await registerFrom(t, `198.51.100.${site}`);
      t.clock.now += 10;
      expect((await registerFrom(t, '203.0.113.1')).status).toBe(503);
      const second = await t.server.initialAccessTokens.create();
      expect((await registerFrom(t, '203.0.113.1', second.token)).status).toBe(201);
    });

    it('the store counts registrations by network only when more than half of the cap is reached', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      const { countUnusedClientsByNetwork } = t.store;
      let asked = 0;
      t.store.countUnusedClientsByNetwork = () => {
        asked += 1;
        return countUnusedClientsByNetwork();
      };
      for (let count = 0; count < 50; count += 1) await registerFrom(t, '192.0.2.1');
      expect(asked).toBe(0);
      for (let count = 0; count < 30; count += 1) await registerFrom(t, '192.0.2.1');
      expect(asked).toBe(1);
    });

    it('T043: concurrent registrations of one network never exceed its share', async () => {
      const t = await startServer({ registration, rateLimits: limits });
      await Promise.all(Array.from({ length: 300 }, () => registerFrom(t, '192.0.2.1')));
      expect(await t.store.countUnusedClients()).toBe(50);
      t.clock.now += 10;
      const before = t.snapshot();
      expect((await registerFrom(t, '192.0.2.1')).status).toBe(429);
      expect(t.snapshot()).toBe(before);
      expect((await registerFrom(t, '192.0.2.2')).status).toBe(201);
    });
  });

  it.each([0, -1, 1.5, Number.NaN])(
    'rejects an invalid cap of unused registrations: %s',
    async (maxUnusedClients) => {
      await expect(startServer({ registration: { maxUnusedClients } })).rejects.toThrow(
        'registration.maxUnusedClients',
      );
    },
  );
});

describe('initial access tokens', () => {
  const initialAccessTokens = ['first-initial-access-token', 'second-initial-access-token'];
  const registerWith = (t: ServerUnderTest, authorization?: string) =>
    t.send('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
      body: JSON.stringify(METADATA),
    });

  it('[AS-DCR-67] registers a client that presents a configured initial access token', async () => {
    const t = await startServer({ registration: { initialAccessTokens } });
    for (const token of initialAccessTokens)
      expect((await registerWith(t, `Bearer ${token}`)).status).toBe(201);
  });

  it.each([
    undefined,
    'Bearer wrong-initial-access-token',
    'Bearer',
    'Basic eDp5',
    initialAccessTokens[0],
    `DPoP ${initialAccessTokens[0]}`,
    'Bearer a b',
  ])('[AS-DCR-67] rejects a registration without a valid initial access token: %s', async (authorization) => {
    const t = await startServer({ registration: { initialAccessTokens } });
    const before = t.snapshot();
    const { status, body, headers } = await registerWith(t, authorization);
    expect([status, body['error']]).toEqual([401, 'invalid_token']);
    expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(t.snapshot()).toBe(before);
  });

  describe('initial access tokens that an administrator makes', () => {
    const invited = { registration: { requireInitialAccessToken: true } };
    const bearer = (token: string) => `Bearer ${token}`;

    it('[AS-DCR-67] an issued initial access token registers one client, and a rejected registration does not consume it', async () => {
      const t = await startServer(invited);
      const [first, second] = [
        await t.server.initialAccessTokens.create(),
        await t.server.initialAccessTokens.create(),
      ];
      const refused = await t.send('/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: bearer(first.token) },
        body: '{"redirect_uris":["javascript:alert(1)"]}',
      });
      expect(refused.status).toBe(400);
      for (const { token } of [first, second]) {
        expect((await registerWith(t, bearer(token))).status).toBe(201);
        const before = t.snapshot();
        const again = await registerWith(t, bearer(token));
        expect([again.status, again.body['error']]).toEqual([401, 'invalid_token']);
        expect(t.snapshot()).toBe(before);
      }
    });

    it('T031: of concurrent registrations with one initial access token, exactly one succeeds', async () => {
      const t = await startServer(invited);
      const { token } = await t.server.initialAccessTokens.create();
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => registerWith(t, bearer(token))));
      expect(outcomes.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(outcomes.filter(({ status }) => status === 401)).toHaveLength(19);
      expect(await t.store.listClients('', 100)).toHaveLength(1);
    });

    it.each<[string, (t: ServerUnderTest) => Promise<string>]>([
      ['none at all', async () => ''],
      ['one that was never issued', async () => 'A'.repeat(43)],
      [
        'one of another server',
        async () => (await (await startServer(invited)).server.initialAccessTokens.create()).token,
      ],
      ['one whose time is over', async (t) => (await t.server.initialAccessTokens.create('', 0)).token],
      ['the identifier of one', async (t) => (await t.server.initialAccessTokens.create()).id],
      ['one with more behind it', async (t) => `${(await t.server.initialAccessTokens.create()).token}A`],
    ])(
      '[AS-DCR-67] T040: rejects a registration with an initial access token that is invalid: %s',
      async (_what, make) => {
        const t = await startServer(invited);
        const token = await make(t);
        const before = t.snapshot();
        const { status, body } = await registerWith(t, bearer(token));
        expect([status, body['error']]).toEqual([401, 'invalid_token']);
        expect(t.snapshot()).toBe(before);
        const [refused] = t.events.filter(({ type }) => type === 'request.rejected');
        expect(refused).toMatchObject({
          reason: `initial access token: ${token === '' ? 'none' : 'unknown'}`,
        });
        expect(
          (await registerWith(t, bearer((await t.server.initialAccessTokens.create()).token))).status,
        ).toBe(201);
      },
    );

    it('[AS-DCR-67] T095: an unused initial access token can be revoked, each on its own', async () => {
      const t = await startServer(invited);
      const { initialAccessTokens: invitations } = t.server;
      const [wrong, right] = [await invitations.create('for the wrong one'), await invitations.create()];
      expect(await invitations.revoke(wrong.id)).toBe('revoked');
      const before = t.snapshot();
      expect((await registerWith(t, bearer(wrong.token))).status).toBe(401);
      expect(await invitations.revoke(wrong.id)).toBe('unknown');
      expect(t.snapshot()).toBe(before);
      const { status, body } = await registerWith(t, bearer(right.token));
      expect(status).toBe(201);
      expect(await invitations.revoke(right.id)).toBe('used');
      expect(await isKnown(t, String(body['client_id']))).toBe(true);
      expect(await invitations.list()).toMatchObject([{ id: right.id, clientId: body['client_id'] }]);
    });

    it('lists initial access tokens without their values, and audit events link each to the client it registered', async () => {
      const t = await startServer(invited);
      const { initialAccessTokens: invitations } = t.server;
      const made = [await invitations.create('for Bob\0'), await invitations.create('x'.repeat(300))];
      const listed = await invitations.list();
      expect(listed.map(({ note }) => note).toSorted()).toEqual(['for Bob', 'x'.repeat(200)]);
      expect(await invitations.list(listed[0]?.id, 1)).toEqual([listed[1]]);
      const { body } = await registerWith(t, bearer(made[0]?.token ?? ''));
      await invitations.revoke(made[1]?.id ?? '');
      expect(t.events.filter(({ type }) => /^(client|initial_access_token)\./.test(type))).toMatchObject([
        { type: 'initial_access_token.created', initialAccessTokenId: made[0]?.id },
        { type: 'initial_access_token.created', initialAccessTokenId: made[1]?.id },
        { type: 'client.registered', clientId: body['client_id'], initialAccessTokenId: made[0]?.id },
        { type: 'initial_access_token.revoked', initialAccessTokenId: made[1]?.id },
      ]);
      const kept = `${t.snapshot()}${JSON.stringify([await invitations.list(), t.events])}`;
      for (const { token } of made) expect(kept).not.toContain(token);
    });

    it('a registration with an initial access token is exempt from the rate limit of its network', async () => {
      const t = await startServer({ ...invited, rateLimits: { registrations: { burst: 1, perMinute: 1 } } });
      for (const _ of [1, 2, 3]) {
        const { token } = await t.server.initialAccessTokens.create();
        expect((await registerWith(t, bearer(token))).status).toBe(201);
      }
    });

    it('accepts issued initial access tokens beside those of the configuration', async () => {
      const t = await startServer({ registration: { initialAccessTokens } });
      expect(
        (await registerWith(t, bearer((await t.server.initialAccessTokens.create()).token))).status,
      ).toBe(201);
      expect((await registerWith(t, `Bearer ${initialAccessTokens[0]}`)).status).toBe(201);
      const invalid = startServer({
        registration: { initialAccessTokens, requireInitialAccessToken: false },
      });
      await expect(invalid).rejects.toThrow('registration.requireInitialAccessToken');
    });
  });

  it('[AS-DCR-67] registers without an initial access token where none is required', async () => {
    expect((await registerWith(await startServer())).status).toBe(201);
  });

  it.each([[[]], [['short']], [['with a space in it, which is no token']]])(
    'rejects configured initial access tokens that are no bearer tokens: %j',
    async (tokens) => {
      await expect(startServer({ registration: { initialAccessTokens: tokens } })).rejects.toThrow(
        'registration.initialAccessTokens',
      );
    },
  );
});

describe('the scope that a client registers', () => {
  const grantedTo = async (registration: AuthorizationServerOptions['registration'], more: object) => {
    const t = await setScene({ ...(registration !== undefined && { registration }) });
    const client_id = await t.registerClient({ ...METADATA, ...more });
    const { left } = await decide(t.visitor, requestOf({ client_id, scope: 'notes:read notes:write' }));
    const code = left?.searchParams.get('code') ?? '';
    const { body } = await t.post(
      '/token',
      redemption(code, 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', client_id),
    );
    return claimsOf(body['access_token'])['scope'];
  };

  it('a registered scope is a hint by default: it limits nothing, and a missing one removes nothing', async () => {
    expect(await grantedTo(undefined, { scope: 'notes:read' })).toBe('notes:read notes:write');
    expect(await grantedTo(undefined, {})).toBe('notes:read notes:write');
  });

  it('a registered scope is the maximum scope where so configured; a missing one removes nothing', async () => {
    expect(await grantedTo({ scope: 'ceiling' }, { scope: 'notes:read' })).toBe('notes:read');
    expect(await grantedTo({ scope: 'ceiling' }, {})).toBe('notes:read notes:write');
  });
});

describe('redirect URIs of a registration', () => {
  it.each([
    [['http://127.0.0.1:33418/cb'], 'native'],
    [['http://localhost/cb', 'http://[::1]/cb'], 'native'],
    [['cursor://anysphere.cursor-mcp/cb', 'http://localhost/cb'], 'native'],
    [['https://vscode.dev/redirect', 'http://127.0.0.1:33418'], 'web'],
    [['https://app.example/cb'], 'web'],
  ])(
    '[AS-DCR-30] derives the application type from the redirect URIs: %j is %s',
    async (redirect_uris, type) => {
      const { register } = await startServer({ privateUseSchemes: ['cursor'] });
      const { status, body } = await register({ redirect_uris });
      expect([status, body['application_type'], body['redirect_uris']]).toEqual([201, type, redirect_uris]);
    },
  );

  it('drops redirect URIs with a scheme that is not allowed, and names dangerous ones with the reason', async () => {
    const t = await startServer();
    const mixed = ['cursor://anysphere.cursor-mcp/cb', 'http://localhost:8080/cb'];
    expect((await t.register({ redirect_uris: mixed })).body['redirect_uris']).toEqual([mixed[1]]);
    const { body } = await t.register({
      redirect_uris: ['https://app.example/cb#x', 'http://evil.example/cb', 'javascript:alert(1)', mixed[1]],
    });
    const said = String(body['error_description']);
    expect(said).toContain('redirect_uris.0: must have no fragment');
    expect(said).toContain('redirect_uris.1: must use https');
    expect(said).toContain('redirect_uris.2: must not use the scheme javascript');
    expect(said).not.toContain('redirect_uris.3');
  });
});

describe('metadata that a client claims', () => {
  it('[AS-DCR-68] the consent page marks a registered client as unverified, however famous its name', async () => {
    const t = await setScene();
    const client_id = await t.registerClient({
      ...METADATA,
      client_name: 'Claude',
      logo_uri: 'https://claude.ai/logo.png',
      client_uri: 'https://claude.ai',
    });
    const consent = await t.visitor.signIn(requestOf({ client_id }));
    expect(textOf(consent)).toContain('This app is not verified. It chose its own name.');
    expect(consent.html).not.toContain('claude.ai');
  });

  it('[T054] the consent page says that an administrator verified a client, until its metadata changes, and that a local program could impersonate it', async () => {
    const t = await setScene();
    const redirect_uri = 'http://127.0.0.1:51004/cb';
    const client_id = await t.registerClient({
      ...METADATA,
      client_name: 'Claude',
      redirect_uris: [redirect_uri],
    });
    const seen = async () => textOf(await t.newVisitor().signIn(requestOf({ client_id, redirect_uri })));
    expect(await seen()).toContain('could impersonate this app');
    const listed = await t.server.clients.find(client_id);
    if (listed === null) throw new Error('not registered');
    const before = t.snapshot();
    const other = { ...listed.metadata, client_name: 'Other' };
    expect(await t.server.clients.verify(client_id, other)).toBe(false);
    expect(await t.server.clients.verify('unknown', listed.metadata)).toBe(false);
    expect(t.snapshot()).toBe(before);
    expect(await t.server.clients.verify(client_id, listed.metadata)).toBe(true);
    const verified = await seen();
    expect(verified).toContain('The administrators of as.example have verified this app.');
    expect(verified).not.toContain('not verified');
    expect(verified).toContain('could impersonate this app');
    expect(verified).toContain('Continue only if you just started this app yourself.');
    expect(await t.server.clients.update(client_id, { client_name: 'Claude Desktop' })).not.toBeNull();
    expect(await seen()).toContain('Verified by your administrators');
    await t.store.updateClient(client_id, { metadata: { ...listed.metadata, client_name: 'Bank' } });
    expect(await seen()).toContain('Unverified app');
    expect(t.events.filter(({ type }) => type === 'client.verified')).toHaveLength(1);
  });
});
