/** Rate limits at the endpoints: floods and brute force get 429, and other clients and users are not affected. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { ConfigurationError, createAuthorizationServer } from '../src/index.ts';
import {
  basic,
  CALLBACK,
  CLIENTS,
  ISSUER,
  MASTER_KEY,
  RESOURCES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';
import { decide, EMAIL, PASSWORD, requestOf, setScene, VERIFIER } from './visitor.ts';

const METADATA = { redirect_uris: ['https://app.example/cb'], token_endpoint_auth_method: 'none' };

/** Posts from an address. */
async function postFrom(
  { server }: Pick<ServerUnderTest, 'server'>,
  address: string | undefined,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const isJson = path === '/register';
  const response = await server.handle(
    new Request(`${ISSUER}${path}`, {
      method: 'POST',
      headers: { ...(isJson && { 'content-type': 'application/json' }), ...headers },
      body: isJson ? JSON.stringify(body) : new URLSearchParams(body as Record<string, string>),
    }),
    address === undefined ? {} : { address },
  );
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body: answer };
}

/** That an answer is a 429 as OAuth clients understand it. */
function expectTooMany(answer: Awaited<ReturnType<typeof postFrom>>, retryAfter: number): void {
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toBe(String(retryAfter));
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.body).toEqual({
    error: 'temporarily_unavailable',
    error_description: 'Too many requests. Try again later.',
  });
}

describe('wrong client secrets', () => {
  const grant = { grant_type: 'client_credentials' };
  const wrong = basic('nightly', 'wrong');
  const right = basic('nightly', 'nightly-secret');

  it('[AS-AUTH-64 AS-TOK-76] wrong secrets are throttled for the client at that network alone', async () => {
    const t = await startServer();
    for (let count = 0; count < 10; count++) {
      expect((await postFrom(t, '192.0.2.1', '/token', grant, wrong)).status).toBe(401);
    }
    const before = t.snapshot();
    // The response does not reveal whether the next guess was right.
    for (const headers of [wrong, right]) {
      expectTooMany(await postFrom(t, '192.0.2.1', '/token', grant, headers), 10);
    }
    expect(t.snapshot()).toBe(before);
    expect(t.events.at(-1)).toMatchObject({ reason: 'too many failed client authentications' });
    expect((await postFrom(t, '192.0.2.2', '/token', grant, right)).status).toBe(200);
    const other = basic('notes-server', 'notes-server-secret');
    expect((await postFrom(t, '192.0.2.1', '/token', grant, other)).status).toBe(200);
    t.clock.now += 10;
    expect((await postFrom(t, '192.0.2.1', '/token', grant, right)).status).toBe(200);
  });

  it.each(['/token', '/introspect', '/revoke'])(
    '[AS-AUTH-64] wrong secrets are counted together at %s',
    async (path) => {
      const t = await startServer();
      for (let count = 0; count < 10; count++) {
        await postFrom(t, '192.0.2.1', count % 2 === 0 ? '/introspect' : '/revoke', { token: 'x' }, wrong);
      }
      expectTooMany(await postFrom(t, '192.0.2.1', path, { ...grant, token: 'x' }, wrong), 10);
    },
  );

  it('wrong secrets of many clients from one network are throttled there, except for clients that authenticated before', async () => {
    const t = await startServer();
    const known = basic('notes-server', 'notes-server-secret');
    expect((await postFrom(t, '2001:db8::1', '/token', grant, known)).status).toBe(200);
    for (let count = 0; count < 100; count++) {
      // Another address of the same subscriber each time, in several spellings.
      const address = count % 2 === 0 ? `2001:db8::${count}` : `2001:0DB8:0:0:${count}::1`;
      expect((await postFrom(t, address, '/token', grant, basic(`c${count}`, 'x'))).status).toBe(401);
    }
    expectTooMany(await postFrom(t, '2001:db8::9', '/token', grant, basic('another', 'x')), 1);
    expect((await postFrom(t, '2001:db8::1', '/token', grant, known)).status).toBe(200);
    expect((await postFrom(t, '2001:db8:0:1::1', '/token', grant, right)).status).toBe(200);
  });

  it('[AS-AUTH-64] wrong secrets of one client of a platform lock out none of its other clients, in any process, new or known', async () => {
    const t = await startServer();
    const restarted = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now,
    });
    const platform = '192.0.2.1';
    const { body } = await t.register({
      redirect_uris: ['https://app.example/cb'],
      token_endpoint_auth_method: 'client_secret_post',
    });
    const isWrong = { token: 'x', client_id: String(body['client_id']), client_secret: 'wrong' };
    for (let count = 0; count < 300; count++) {
      await postFrom(t, platform, '/token', grant, basic(`c${count}`, 'x'));
    }
    // A process learns of it with the first that fails there.
    await postFrom({ server: restarted }, platform, '/token', grant, basic('unknown', 'x'));
    for (const server of [t.server, restarted]) {
      const before = t.snapshot();
      expectTooMany(await postFrom({ server }, platform, '/token', grant, basic('unknown', 'x')), 1);
      expectTooMany(await postFrom({ server }, platform, '/token', grant, basic('notes-server', 'x')), 1);
      expectTooMany(await postFrom({ server }, platform, '/revoke', isWrong), 1);
      expect(t.snapshot()).toBe(before);
      expect((await postFrom({ server }, platform, '/token', grant, right)).status).toBe(200);
      const isRight = { ...isWrong, client_secret: String(body['client_secret']) };
      expect((await postFrom({ server }, platform, '/introspect', isRight)).body).toEqual({ active: false });
    }
    await restarted.close();
  });

  describe('where nothing can be guessed', () => {
    const LONG = 'q8ZK1vT0c2mXr5uB9sYdLw';
    const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

    /** Clients of each kind, behind one address: a valid request, and one with wrong credentials. */
    const kinds: readonly (readonly [
      string,
      (t: ServerUnderTest) => Promise<{ path: string; right: () => Promise<Ask>; wrong: readonly Ask[] }>,
    ])[] = [
      [
        'a long secret of the configuration',
        async () => ({
          path: '/token',
          right: async () => [grant, basic('long', LONG)],
          wrong: [[grant, basic('long', `${LONG}x`)]],
        }),
      ],
      [
        'a secret that this server made',
        async (t) => {
          const post = { token_endpoint_auth_method: 'client_secret_post' };
          const { client_id, client_secret } = (await t.register({ ...METADATA, ...post })).body;
          const form = { token: 'x', client_id: String(client_id) };
          return {
            path: '/introspect',
            right: async () => [{ ...form, client_secret: String(client_secret) }],
            wrong: [
              [{ ...form, client_secret: 'x' }],
              [{ ...form, client_assertion_type: assertionType, client_assertion: 'x.y.z' }],
            ],
          };
        },
      ],
      [
        'a key',
        async (t) => {
          const { publicKey, privateKey } = await generateKeyPair('ES256');
          await t.server.clients.add({
            client_id: 'robot',
            grant_types: ['client_credentials'],
            token_endpoint_auth_method: 'private_key_jwt',
            jwks: { keys: [await exportJWK(publicKey)] },
          });
          const form = { ...grant, client_id: 'robot', client_assertion_type: assertionType };
          const sign = () =>
            new SignJWT({ jti: crypto.randomUUID(), iss: 'robot', sub: 'robot', aud: ISSUER })
              .setProtectedHeader({ alg: 'ES256' })
              .setExpirationTime(t.clock.now + 60)
              .sign(privateKey);
          return {
            path: '/token',
            right: async () => [{ ...form, client_assertion: await sign() }],
            wrong: [[{ ...form, client_assertion: 'x.y.z' }], [grant, basic('robot', 'x')]],
          };
        },
      ],
    ];
    type Ask = readonly [Record<string, string>, Record<string, string>?];

    it.each(kinds)(
      '[AS-AUTH-64] wrong attempts do not lock out a client that has %s',
      async (_kind, make) => {
        const long = {
          client_id: 'long',
          client_secret: LONG,
          grant_types: ['client_credentials'],
          token_endpoint_auth_method: 'client_secret_basic',
        };
        const t = await startServer({ clients: [...CLIENTS, long] });
        const { path, right, wrong } = await make(t);
        const ask = ([form, headers]: Ask) => postFrom(t, '192.0.2.1', path, form, headers);
        for (const one of wrong) {
          for (let count = 0; count < 15; count++) await ask(one);
          const before = t.snapshot();
          expectTooMany(await ask(one), 10);
          expect(t.snapshot()).toBe(before);
          expect((await ask(await right())).status).toBe(200);
        }
        // One wrong one a second, for a while.
        for (let second = 0; second < 120; second++) {
          t.clock.now += 1;
          await ask(wrong[second % wrong.length] ?? [grant]);
          if (second % 10 === 3) expect((await ask(await right())).status).toBe(200);
        }
      },
    );

    it('[AS-AUTH-64] assertions of a client with a short pre-registered secret are not throttled', async () => {
      const t = await startServer();
      const form = { ...grant, client_id: 'nightly', client_assertion_type: assertionType };
      for (let count = 0; count < 15; count++) {
        await postFrom(t, '192.0.2.1', '/token', { ...form, client_assertion: 'x.y.z' });
      }
      expectTooMany(await postFrom(t, '192.0.2.1', '/token', { ...form, client_assertion: 'x.y.z' }), 10);
      expect((await postFrom(t, '192.0.2.1', '/token', grant, right)).status).toBe(200);
    });
  });

  it('wrong secrets with made-up client identifiers store no row each beyond the limit', async () => {
    const t = await startServer();
    const { chargeRateLimit: takeTurn } = t.store;
    const keys = new Set<string>();
    let asked = 0;
    t.store.chargeRateLimit = (key, ...turn) => {
      keys.add(key);
      asked += 1;
      return takeTurn(key, ...turn);
    };
    const fail = async (count: number, address?: string) =>
      (await postFrom(t, address, '/token', grant, basic(`made-up-${count}`, 'x'))).status;
    for (let count = 0; count < 100; count++) expect(await fail(count, '192.0.2.1')).toBe(401);
    const before = [keys.size, asked];
    expect(keys.size).toBe(101);
    for (let count = 100; count < 600; count++) expect(await fail(count, '192.0.2.1')).toBe(429);
    // Nor without addresses.
    for (let count = 0; count < 200; count++) expect(await fail(count)).toBe(401);
    expect([keys.size, asked]).toEqual(before);
    expect((await postFrom(t, '192.0.2.1', '/token', grant, right)).status).toBe(200);
  });

  it('wrong secrets are not counted for public clients', async () => {
    const t = await startServer();
    const bad = { grant_type: 'authorization_code', code: 'wrong', code_verifier: 'v'.repeat(43) };
    for (let count = 0; count < 150; count++) {
      const { body } = await postFrom(t, '192.0.2.1', '/token', { ...bad, client_id: 'desktop' });
      expect(body['error']).toBe('invalid_grant');
    }
  });
});

describe('rate limits of tokens', () => {
  it('[AS-TOK-76] tokens of one grant are limited, independently of another grant of the same client', async () => {
    const t = await startServer({ rateLimits: { refreshes: { burst: 3, perMinute: 6 } } });
    const [mine, theirs] = [(await t.signIn()).body, (await t.signIn()).body];
    const refresh = (token: unknown) => postFrom(t, '192.0.2.1', '/token', refreshing(token));
    const answers = [await refresh(mine['refresh_token']), await refresh(mine['refresh_token'])];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const last = await refresh(answers[0]?.body['refresh_token']);
    expect(last.status).toBe(200);
    const before = t.snapshot();
    expectTooMany(await refresh(last.body['refresh_token']), 10);
    expect(t.snapshot()).toBe(before);
    expect((await refresh(theirs['refresh_token'])).status).toBe(200);
    t.clock.now += 10;
    expect((await refresh(last.body['refresh_token'])).status).toBe(200);
  });

  it('[AS-TOK-76] tokens of one application are limited', async () => {
    const t = await startServer({ rateLimits: { clientTokens: { burst: 2, perMinute: 60 } } });
    const ask = (id: string) =>
      postFrom(t, undefined, '/token', { grant_type: 'client_credentials' }, basic(id, `${id}-secret`));
    expect([(await ask('nightly')).status, (await ask('nightly')).status]).toEqual([200, 200]);
    expectTooMany(await ask('nightly'), 1);
    expect((await ask('notes-server')).status).toBe(200);
  });

  it('fifty concurrent uses of one refresh token are not limited', async () => {
    const t = await startServer();
    const { refresh_token: token } = (await t.signIn()).body;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => postFrom(t, '192.0.2.1', '/token', refreshing(token))),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body['refresh_token']}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
  });
});

describe('rate limits of registrations', () => {
  const limits = { registrations: { burst: 5, perMinute: 6 } };

  it('T043: registrations from one site are limited over all processes; known clients are not affected', async () => {
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
    const register = (server: typeof other, address: string) =>
      postFrom({ server }, address, '/register', METADATA, { 'x-forwarded-for': '8.8.8.8' });
    const variants = [
      '2001:db8::1',
      '2001:db8::2',
      '2001:0db8:0:0::3',
      // An attacker with one network of a site may have them all.
      '2001:DB8:0:9:0:0:0:4',
      '2001:db8::5',
    ];
    for (const [index, address] of variants.entries()) {
      expect((await register(index % 2 === 0 ? t.server : other, address)).status).toBe(201);
    }
    const before = t.snapshot();
    for (const server of [t.server, other]) expectTooMany(await register(server, '2001:db8::6'), 10);
    expect(t.snapshot()).toBe(before);
    expect((await register(other, '2001:db8:1::1')).status).toBe(201);
    expect((await register(other, '192.0.2.1')).status).toBe(201);
    const { status } = await t.signIn();
    expect(status).toBe(200);
    t.clock.now += 10;
    expect((await register(other, '2001:db8::6')).status).toBe(201);
  });

  it('T043: 10,000 registrations beyond the limit are rejected and store few rows', async () => {
    const t = await startServer({ store: await openEmptyStore() });
    const statuses = new Map<number, number>();
    for (let count = 0; count < 10_000; count += 100) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => postFrom(t, '192.0.2.1', '/register', METADATA)),
      );
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 201: 300, 429: 9700 });
    expect(await t.store.countUnusedClients()).toBe(300);
    expect((await t.signIn()).status).toBe(200);
  });
});

describe('authorization requests', () => {
  it('authorization requests before sign-in are limited by site, store few rows, and lock no other site out', async () => {
    const t = await setScene({ rateLimits: { authorizations: { burst: 3, perMinute: 6 } } });
    const known = t.newVisitor('192.0.2.7');
    await known.signIn(requestOf());
    const flood = t.newVisitor('192.0.2.7');
    for (let count = 0; count < 2; count++) expect((await flood.open(requestOf())).path).toMatch(/^\/login/);
    const before = t.snapshot();
    const refused = await flood.open(requestOf({ state: 'x'.repeat(4000) }));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
    expect(t.snapshot()).toBe(before);
    // Logged-in users and other networks are not affected, and waiting helps.
    expect((await known.open(requestOf())).path).toMatch(/^\/consent/);
    expect((await t.newVisitor('192.0.2.8').open(requestOf())).path).toMatch(/^\/login/);
    t.clock.now += 10;
    expect((await flood.open(requestOf())).path).toMatch(/^\/login/);
  });
});

it.each([
  ['that registered itself are limited by site until a user has connected it', 'register'],
  ['of an administrator are not limited', 'add'],
] as const)('assertions of a client %s', async (_what, origin) => {
  const t = await setScene({ rateLimits: { authorizations: { burst: 3, perMinute: 6 } } });
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const metadata = {
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [await exportJWK(publicKey)] },
  };
  const made = origin === 'add' ? await t.server.clients.add(metadata) : (await t.register(metadata)).body;
  const id = String(made['client_id']);
  const credentials = async () => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT({ jti: crypto.randomUUID(), iss: id, sub: id, aud: ISSUER })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime(t.clock.now + 60)
      .sign(privateKey),
  });
  const ask = async (address: string) =>
    postFrom(t, address, '/revoke', { token: 'x', ...(await credentials()) });
  const isLimited = origin === 'register';
  for (let count = 0; count < 3; count++) expect((await ask('192.0.2.7')).status).toBe(200);
  const before = t.snapshot();
  expect((await ask('192.0.2.7')).status).toBe(isLimited ? 429 : 200);
  expect(t.snapshot() === before).toBe(isLimited);
  expect((await ask('192.0.2.8')).status).toBe(200);

  const { left } = await decide(t.visitor, requestOf({ client_id: id }));
  const form = {
    ...redemption(left?.searchParams.get('code') ?? '', VERIFIER, id),
    redirect_uri: CALLBACK,
    ...(await credentials()),
  };
  expect((await postFrom(t, '192.0.2.9', '/token', form)).status).toBe(200);
  for (let count = 0; count < 9; count++) expect((await ask('192.0.2.7')).status).toBe(200);
});

describe('the sites of authorization requests', () => {
  it('all networks of an IPv6 /48 share one limit of authorization requests, and other sites have their own', async () => {
    const t = await setScene();
    const open = async (address: string) => (await t.newVisitor(address).open(requestOf())).status;
    const statuses: number[] = [];
    for (let n = 0; n < 700; n++) statuses.push(await open(`2001:db8:0:${(n % 60).toString(16)}::1`));
    const served = statuses.filter((status) => status === 200).length;
    expect(statuses.indexOf(429)).toBe(served);
    expect(served).toBeGreaterThan(590);
    expect(served).toBeLessThanOrEqual(600);
    const before = t.snapshot();
    expect(await open('2001:db8:0:ffff::1')).toBe(429);
    expect(t.snapshot()).toBe(before);
    for (const address of ['2001:db8:1::1', '192.0.2.1', '::ffff:192.0.2.2', '64:ff9b::192.0.2.3'])
      expect(await open(address)).toBe(200);
  });

  describe('when nearly as many authorization requests are open as may be', () => {
    /** All but a hundred are taken, in shares of other sites. */
    async function startNearlyFull() {
      const t = await setScene({ rateLimits: { authorizations: { burst: 10_000, perMinute: 10_000 } } });
      const columns = `browser_hash, client_id, redirect_uri, redirect_uri_sent, code_challenge, state, scopes, resources,
        approved_scopes, force_login, created_at`;
      await t.visitor.signIn(requestOf());
      await t.newVisitor().open(requestOf());
      t.execute(`INSERT INTO authorization_transactions (id, expires_at, network, ${columns})
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 19899)
        SELECT 'flow_' || i, expires_at, 'site-' || (i % 50), ${columns} FROM n,
          (SELECT * FROM authorization_transactions WHERE network IS NOT NULL LIMIT 1)`);
      t.clock.now += 10;
      const open = async (address: string) => {
        const sight = await t.newVisitor(address).open(requestOf());
        return sight.path.startsWith('/login') ? 'open' : sight.left?.searchParams.get('error');
      };
      return { t, open };
    }

    it('a site gets a share of what is left, and displaces no other', async () => {
      const { t, open } = await startNearlyFull();
      const outcomes: unknown[] = [];
      for (let n = 0; n < 60; n++) outcomes.push(await open(`2001:db8:0:${n.toString(16)}::1`));
      expect(outcomes.filter((outcome) => outcome === 'open')).toHaveLength(20);
      const before = t.snapshot();
      expect(await open('2001:db8:0:ffff::1')).toBe('temporarily_unavailable');
      expect(t.snapshot()).toBe(before);
      expect(t.events.at(-1)).toMatchObject({
        type: 'request.rejected',
        reason: 'authorization requests without a user: 20 of 19920 belong to one site',
      });
      for (const address of ['2001:db8:1::1', '192.0.2.1', '192.0.2.2', '192.0.2.2']) {
        expect(await open(address)).toBe('open');
      }
      // A signed-in user needs no share.
      expect((await t.visitor.open(requestOf())).path).toMatch(/^\/consent/);
    });

    it('refuses more than there may be in all, until some end', async () => {
      const { t, open } = await startNearlyFull();
      t.execute(`UPDATE authorization_transactions SET network = 'x' WHERE network IS NULL`);
      for (let n = 0; n < 100; n++) await open(`192.0.2.${n}`);
      const path = requestOf({
        client_id: await t.registerClient({ redirect_uris: ['https://a.example/cb'] }),
        redirect_uri: 'https://a.example/cb',
      });
      const before = t.snapshot();
      const refused = await t.newVisitor('198.51.100.1').open(path);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
      expect(t.snapshot()).toBe(before);
      expect((await t.visitor.open(requestOf())).path).toMatch(/^\/consent/);
      t.clock.now += 600;
      expect(await open('198.51.100.1')).toBe('open');
    });

    it('a transaction no longer counts once its user has signed in', async () => {
      const { t } = await startNearlyFull();
      const before = await t.store.countAnonymousTransactions(t.clock.now);
      const ada = t.newVisitor('203.0.113.7');
      const login = await ada.open(requestOf());
      expect(await t.store.countAnonymousTransactions(t.clock.now)).toBe(before + 1);
      await ada.submit(login, { email: EMAIL, password: PASSWORD });
      expect(await t.store.countAnonymousTransactions(t.clock.now)).toBe(before);
    });
  });

  it('bounds what one authorization request stores', async () => {
    const t = await setScene();
    const fits = requestOf({ state: 's'.repeat(4096) });
    expect((await t.newVisitor().open(fits)).path).toMatch(/^\/login/);
    const before = t.snapshot();
    const { left } = await t.newVisitor().open(requestOf({ state: '\u00e9'.repeat(4096) }));
    expect(left?.searchParams.get('error')).toBe('invalid_request');
    expect(left?.searchParams.get('error_description')).toContain('5120 octets');
    expect(t.snapshot()).toBe(before);
  });

  it('wrong secrets from many networks of an IPv6 /48 are counted together', async () => {
    const t = await setScene();
    const guess = (n: number) =>
      postFrom(
        t,
        `2001:db8:0:${n.toString(16)}::1`,
        '/token',
        { grant_type: 'client_credentials' },
        basic('nightly', 'x'),
      );
    const statuses: number[] = [];
    for (let n = 0; n < 20; n++) statuses.push((await guess(n)).status);
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(10).fill(429)]);
  });
});

describe('authorization requests of one account', () => {
  it('authorization requests of one account are limited from any network, and lock no other account out', async () => {
    const t = await setScene({ rateLimits: { authorizations: { burst: 5, perMinute: 6 } } });
    const [ada, other] = [t.newVisitor('192.0.2.7'), t.newVisitor('192.0.2.8')];
    // Each counts for its network, since no user is logged in yet.
    for (const visitor of [ada, other]) await visitor.signIn(requestOf());
    for (const visitor of [ada, other, ada, other, ada])
      expect((await visitor.open(requestOf())).path).toMatch(/^\/consent/);
    const before = t.snapshot();
    const refused = await other.open(requestOf());
    expect([refused.status, refused.headers.get('retry-after'), refused.left]).toEqual([429, '10', null]);
    expect(t.snapshot()).toBe(before);
    expect((await t.newVisitor('192.0.2.8').open(requestOf())).path).toMatch(/^\/login/);
    t.clock.now += 10;
    expect((await other.open(requestOf())).path).toMatch(/^\/consent/);
  });
});

describe('rate limits of sign-ins', () => {
  it('T075: sign-ins to one account from one network are limited over processes and restarts', async () => {
    const t = await setScene({ rateLimits: { signIns: { burst: 3, perMinute: 1 } } });
    const try1 = async (address: string, password: string) => {
      const visitor = t.newVisitor(address);
      return visitor.submit(await visitor.open(requestOf()), { email: EMAIL, password });
    };
    for (let count = 0; count < 3; count++) expect((await try1('192.0.2.9', 'wrong')).status).toBe(400);
    const refused = await try1('192.0.2.9', PASSWORD);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await try1('192.0.2.10', PASSWORD)).path).toMatch(/^\/consent/);
  });
});

it('rate limits can be disabled, and their options are validated', async () => {
  const t = await startServer({ rateLimits: false });
  for (let count = 0; count < 20; count++) {
    const answer = await postFrom(t, '192.0.2.1', '/introspect', { token: 'x' }, basic('nightly', 'wrong'));
    expect(answer.status).toBe(401);
  }
  const store = await openEmptyStore();
  const start = createAuthorizationServer({
    issuer: ISSUER,
    store,
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    rateLimits: { signIns: { burst: 0, perMinute: 0 } },
  });
  await expect(start).rejects.toThrow(ConfigurationError);
  await expect(start).rejects.toThrow(/rateLimits\.signIns\.burst.*rateLimits\.signIns\.perMinute/);
  await store.close();
});
