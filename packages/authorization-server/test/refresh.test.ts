/** The grant type refresh_token: rotation, retries with the same successor, and reuse detection per family. */
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createKeyAdministration } from '../src/index.ts';
import type { AuthorizationStore } from '../src/store/index.ts';
import {
  ACCOUNT,
  CALLBACK,
  claimsOf,
  FILES,
  NOTES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const DAY = 86_400;

async function started(options?: Parameters<typeof startServer>[0]) {
  const t = await startServer(options);
  const { body } = await t.signIn();
  return { t, token: String(body['refresh_token']), accessToken: body['access_token'] };
}

async function refresh(t: ServerUnderTest, token: unknown, more: Record<string, string> = {}) {
  const { status, body } = await t.post('/token', { ...refreshing(token), ...more });
  return { status, error: body['error'], body, token: String(body['refresh_token']) };
}

describe('a refresh', () => {
  it('[AS-ROT-1 AS-ROT-2 AS-REF-62 AS-TOK-2 AS-TOK-65] a refresh rotates the refresh token, and the old one ends once its successor is used', async () => {
    const { t, token, accessToken } = await started();
    const next = await refresh(t, token);
    expect(next.status).toBe(200);
    expect(next.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      refresh_token: expect.stringMatching(/^[\w-]{20,40}~[0-9a-z]+~[\w-]{43}$/),
      scope: 'notes:read notes:write',
    });
    expect(next.token).not.toBe(token);
    expect(next.body['access_token']).not.toBe(accessToken);
    expect((await refresh(t, next.token)).status).toBe(200);
    expect(await refresh(t, token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('a refresh reads client and grant together, each once', async () => {
    const real = await openEmptyStore();
    const calls: string[] = [];
    const noted = <A extends unknown[], R>(name: string, call: (...values: A) => Promise<R>) => {
      return async (...values: A): Promise<R> => {
        calls.push(name);
        const result = await call(...values);
        calls.push(`${name} ended`);
        return result;
      };
    };
    const store: AuthorizationStore = {
      ...real,
      findClient: noted('client', real.findClient),
      findGrant: noted('grant', real.findGrant),
      rotateRefreshToken: noted('rotation', real.rotateRefreshToken),
    };
    const { t, token, accessToken } = await started({ store });
    const id = String(claimsOf(accessToken)['grant_id']);
    const { body } = await t.register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' });
    // Registered clients are read, and this one is not that of the grant.
    const before = await real.findGrant(id);
    calls.length = 0;
    const other = await refresh(t, token, { client_id: String(body['client_id']) });
    expect(other).toMatchObject({ status: 400 });
    expect(calls.filter((name) => !name.endsWith('ended')).toSorted()).toEqual(['client', 'grant']);
    expect(calls.indexOf('grant')).toBeLessThan(calls.indexOf('client ended'));
    expect(await real.findGrant(id)).toEqual(before);
    calls.length = 0;
    expect((await refresh(t, token)).status).toBe(200);
    expect(calls.filter((name) => !name.endsWith('ended'))).toEqual(['grant', 'rotation']);
  });

  it('refresh tokens can be rotated again and again', async () => {
    const { t, token } = await started();
    const seen = new Set([token]);
    let current = token;
    for (let round = 0; round < 20; round++) {
      t.clock.now += DAY;
      const next = await refresh(t, current);
      expect(next.status).toBe(200);
      seen.add(next.token);
      current = next.token;
    }
    expect(seen.size).toBe(21);
  });

  it('[AS-JWT-61] a refreshed access token has the same grant, user and client', async () => {
    const { t, token, accessToken } = await started();
    const { jti, ...before } = claimsOf(accessToken);
    const { jti: nextJti, ...after } = claimsOf((await refresh(t, token)).body['access_token']);
    expect(after).toEqual(before);
    expect(nextJti).not.toBe(jti);
  });
});

describe('a retry', () => {
  it('a retry gets the same successor, which works, as long as that was not used', async () => {
    const { t, token } = await started();
    const first = await refresh(t, token);
    for (const wait of [0, 31, 3600, 20 * DAY]) {
      t.clock.now += wait;
      expect(await refresh(t, token)).toMatchObject({ status: 200, token: first.token });
    }
    expect(t.events.filter(({ type }) => type.startsWith('refresh_token.'))).toMatchObject([
      { type: 'refresh_token.rotated' },
      { type: 'refresh_token.retried', secondsSinceRotation: 0 },
      { type: 'refresh_token.retried', secondsSinceRotation: 31 },
      { type: 'refresh_token.retried', secondsSinceRotation: 3631 },
      { type: 'refresh_token.retried', secondsSinceRotation: 20 * DAY + 3631 },
    ]);
    expect((await refresh(t, first.token)).status).toBe(200);
  });

  it('a retry neither prolongs the idle timeout of the successor nor outlives it', async () => {
    const { t, token } = await started();
    const first = await refresh(t, token);
    t.clock.now += 30 * DAY - 1;
    const before = t.snapshot();
    expect(await refresh(t, token)).toMatchObject({ status: 200, token: first.token });
    t.clock.now += 1;
    for (const one of [token, first.token]) {
      expect(await refresh(t, one)).toMatchObject({ status: 400, error: 'invalid_grant' });
    }
    expect(t.snapshot()).toBe(before);
  });

  it('a client that loses the response to every other refresh keeps its session', async () => {
    const { t, token } = await started();
    let current = token;
    for (let round = 0; round < 10; round += 1) {
      const lost = await refresh(t, current);
      t.clock.now += DAY;
      const retried = await refresh(t, current);
      expect(retried).toMatchObject({ status: 200, token: lost.token });
      current = retried.token;
    }
    expect(t.events.map(({ type }) => type)).not.toContain('refresh_token.reuse_detected');
  });

  it('a retry is answered by a process whose clock is an hour behind or ahead', async () => {
    for (const step of [-3600, 3600]) {
      const { t, token } = await started();
      const first = await refresh(t, token);
      t.clock.now += step;
      expect(await refresh(t, token)).toMatchObject({ status: 200, token: first.token });
      expect((await refresh(t, first.token)).status).toBe(200);
    }
  });

  it('a rate limit that was used up before the clock went back by an hour blocks no client for that hour', async () => {
    const { t, token } = await started({ rateLimits: { refreshes: { burst: 10, perMinute: 6 } } });
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) statuses.push((await refresh(t, token)).status);
    expect([statuses[9], statuses[10]]).toEqual([200, 429]);
    t.clock.now -= 3600;
    expect((await refresh(t, token)).status).toBe(200);
  });

  it('fifty concurrent refreshes get one successor', async () => {
    const { t, token } = await started();
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(t, token)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map((answer) => answer.token)).size).toBe(1);
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(50);
    expect((await refresh(t, answers[0]?.token)).status).toBe(200);
  });

  it('a retry gets the same successor from another process with the same store and master key', async () => {
    const store = await openEmptyStore();
    const [here, there] = [
      await startServer({ store }),
      await startServer({ store: { ...store, close: async () => {} } }),
    ];
    const { body } = await here.signIn();
    const first = await refresh(here, body['refresh_token']);
    expect((await refresh(there, body['refresh_token'])).token).toBe(first.token);
  });
});

describe('reuse', () => {
  it('[AS-REF-63 AS-TTL-1] T028 reuse after the successor was used revokes that family, its newest token and its access tokens', async () => {
    const { t, token } = await started();
    const bystander = await t.signIn();
    const next = await refresh(t, token);
    const last = await refresh(t, next.token);
    const claims = claimsOf(last.body['access_token']) as never;
    expect(await t.server.isLive(claims)).toBe(true);
    expect(await refresh(t, token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(t.events.at(-2)).toMatchObject({
      type: 'refresh_token.reuse_detected',
      clientId: 'desktop',
      accountId: ACCOUNT,
    });
    expect(await refresh(t, last.token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await t.server.isLive(claims)).toBe(false);
    expect((await refresh(t, bystander.body['refresh_token'])).status).toBe(200);
  });

  it('T028 a stolen predecessor is noticed as soon as one of its two holders refreshes twice in a row', async () => {
    const { t, token } = await started();
    const client = await refresh(t, token);
    const attacker = await refresh(t, token);
    expect(attacker.token).toBe(client.token);
    const ahead = await refresh(t, attacker.token);
    const further = await refresh(t, ahead.token);
    expect(further.status).toBe(200);
    expect(await refresh(t, client.token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(t.events.map(({ type }) => type)).toContain('refresh_token.reuse_detected');
    expect((await refresh(t, further.token)).error).toBe('invalid_grant');
  });

  it('[AS-REF-62] without a grace period a second use is reuse at once, even within the same second', async () => {
    const { t, token } = await started({ lifetimes: { refreshGrace: 0 } });
    const next = await refresh(t, token);
    expect((await refresh(t, token)).error).toBe('invalid_grant');
    expect((await refresh(t, next.token)).error).toBe('invalid_grant');
  });

  it('with a grace period in seconds, a retry is reuse afterwards, although the successor was not used', async () => {
    const { t, token } = await started({ lifetimes: { refreshGrace: 30 } });
    const next = await refresh(t, token);
    t.clock.now += 30;
    expect(await refresh(t, token)).toMatchObject({ status: 200, token: next.token });
    t.clock.now += 1;
    expect((await refresh(t, token)).error).toBe('invalid_grant');
    expect((await refresh(t, next.token)).error).toBe('invalid_grant');
  });
});

describe('a family', () => {
  it('with a grace period in seconds, each refresh token keeps its own, however many tokens follow', async () => {
    const { t, token } = await started({ lifetimes: { refreshGrace: 30 } });
    const second = await refresh(t, token);
    t.clock.now += 20;
    const third = await refresh(t, second.token);
    t.clock.now += 10;
    expect(await refresh(t, token)).toMatchObject({ status: 200, token: second.token });
    t.clock.now += 20;
    expect(await refresh(t, second.token)).toMatchObject({ status: 200, token: third.token });
    t.clock.now += 1;
    expect(await refresh(t, second.token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect((await refresh(t, third.token)).error).toBe('invalid_grant');
  });

  it('[AS-REF-63] T138 fifty concurrent uses of an old refresh token revoke the family once', async () => {
    const { t, token } = await started();
    const next = await refresh(t, (await refresh(t, token)).token);
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(t, token)));
    expect(new Set(answers.map(({ error }) => error))).toEqual(new Set(['invalid_grant']));
    expect(t.events.filter(({ type }) => type === 'refresh_token.reuse_detected')).toHaveLength(1);
    expect((await refresh(t, next.token)).error).toBe('invalid_grant');
  });

  it('treats a clock that went back as a retry, not as reuse', async () => {
    const { t, token } = await started();
    t.clock.now += 200;
    const next = await refresh(t, token);
    t.clock.now -= 200;
    expect(await refresh(t, token)).toMatchObject({ status: 200, token: next.token });
    expect((await refresh(t, next.token)).status).toBe(200);
  });

  it('a forged refresh token does not revoke the family: a grant id does not reveal its tokens', async () => {
    const { t, token } = await started();
    const [family = '', , secret = ''] = token.split('~');
    const current = (await refresh(t, token)).token;
    t.clock.now += 31;
    const before = t.snapshot();
    const madeUp = [
      `${family}~0~${'A'.repeat(43)}`,
      `${family}~1~${secret}`,
      `${family}~2~${secret}`,
      `${family}~00~${secret}`,
      `${family}~0~${secret}=`,
      `${family.slice(1)}~0~${secret}`,
      `x${family}~0~${secret}`,
      `${family}~0`,
      family,
      current.replace('~1~', '~0~'),
      current.replace('~1~', '~2~'),
      `${current}~0`,
    ];
    for (const text of madeUp) {
      expect(await refresh(t, text)).toMatchObject({ status: 400, error: 'invalid_grant' });
      await t.post('/revoke', { token: text, client_id: 'desktop' });
    }
    expect(t.snapshot()).toBe(before);
    expect((await refresh(t, current)).status).toBe(200);
  });

  it('neither the store nor the master key alone reveals refresh tokens', async () => {
    const { t, token } = await started();
    const next = await refresh(t, token);
    const dump = t.snapshot();
    for (const secret of [token, next.token].map((text) => text.split('~')[2] ?? '')) {
      expect(dump).not.toContain(secret);
    }
    const other = await startServer({ masterKey: new Uint8Array(32).fill(7) });
    const { body } = await other.signIn();
    const [family = ''] = String(body['refresh_token']).split('~');
    const [, ...rest] = token.split('~');
    expect((await refresh(other, [family, ...rest].join('~'))).error).toBe('invalid_grant');
    expect((await refresh(other, body['refresh_token'])).status).toBe(200);
  });

  it('a family survives a new master key, and a retry gets the successor from before', async () => {
    const store = await openEmptyStore();
    const shared = { ...store, close: async () => {} };
    const [old, fresh] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const before = await startServer({ store, masterKey: old });
    const { body } = await before.signIn();
    const second = await refresh(before, body['refresh_token']);
    const between = await startServer({ store: shared, masterKey: fresh, previousMasterKeys: [old] });
    expect(await refresh(between, body['refresh_token'])).toMatchObject({ status: 200, token: second.token });
    const third = await refresh(between, second.token);
    expect(third.status).toBe(200);
    between.clock.now += 31;
    expect(await refresh(between, body['refresh_token'])).toMatchObject({ error: 'invalid_grant' });
    expect((await refresh(between, third.token)).error).toBe('invalid_grant');
  });

  it('the live refresh token works under a new master key without the previous one', async () => {
    const store = await openEmptyStore();
    const [old, fresh] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const before = await startServer({ store, masterKey: old });
    const { body } = await before.signIn();
    const second = await refresh(before, body['refresh_token']);
    await createKeyAdministration({ store, masterKey: old }).reencrypt(fresh);
    const after = await startServer({ store: { ...store, close: async () => {} }, masterKey: fresh });
    expect((await refresh(after, body['refresh_token'])).error).toBe('invalid_grant');
    expect((await refresh(after, second.token)).status).toBe(200);
  });
});

/** Refreshes so many times. @returns all tokens, from the given one to the newest */
async function refreshTimes(t: ServerUnderTest, token: string, times: number): Promise<string[]> {
  const tokens = [token];
  for (let n = 0; n < times; n += 1) tokens.push((await refresh(t, tokens[n])).token);
  return tokens;
}

const FAMILY_COLUMNS = ['hash', 'generation', 'seed', 'issued_at', 'expires_at', 'rotations']
  .map((name) => `refresh_token_${name}`)
  .join();

const backUp = (t: ServerUnderTest) => t.execute('CREATE TABLE backup AS SELECT * FROM grants');
const restore = (t: ServerUnderTest) =>
  t.execute(
    `UPDATE grants SET (${FAMILY_COLUMNS}) = (SELECT ${FAMILY_COLUMNS} FROM backup WHERE backup.id = grants.id)`,
    'DROP TABLE backup',
  );

describe('a store that lost rotations', () => {
  it('a token that is newer than a restored backup is genuine, and moves its family forward', async () => {
    const { t, token } = await started();
    backUp(t);
    const tokens = await refreshTimes(t, token, 3);
    restore(t);
    const next = await refresh(t, tokens[3]);
    expect(next.status).toBe(200);
    expect(t.events.slice(-2)).toMatchObject([
      { type: 'refresh_token.ahead_of_store', clientId: 'desktop', accountId: ACCOUNT },
      { type: 'refresh_token.rotated' },
    ]);
    expect(await refresh(t, tokens[3])).toMatchObject({ status: 200, token: next.token });
    expect((await refresh(t, next.token)).status).toBe(200);
    expect((await refresh(t, tokens[2])).error).toBe('invalid_grant');
    expect(t.events.map(({ type }) => type)).toContain('refresh_token.reuse_detected');
  });

  it('a client that lost the last response before the backup was restored gets a successor', async () => {
    const { t, token } = await started();
    const [, kept = ''] = await refreshTimes(t, token, 1);
    backUp(t);
    await refresh(t, kept);
    restore(t);
    const next = await refresh(t, kept);
    expect((await refresh(t, next.token)).status).toBe(200);
  });

  it('fifty concurrent uses of a token that is newer than the store get one successor', async () => {
    const { t, token } = await started();
    backUp(t);
    const newest = (await refreshTimes(t, token, 2)).at(-1);
    restore(t);
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(t, newest)));
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.token}`)).size).toBe(1);
    expect((await refresh(t, answers[0]?.token)).status).toBe(200);
  });

  it('a token that is newer than the store is valid beyond the idle timeout of its stored predecessor', async () => {
    const { t, token } = await started();
    backUp(t);
    t.clock.now += 20 * DAY;
    const [, newest = ''] = await refreshTimes(t, token, 1);
    restore(t);
    t.clock.now += 11 * DAY;
    const before = t.snapshot();
    expect((await refresh(t, token)).error).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    expect((await refresh(t, newest)).status).toBe(200);
  });

  it('a token that is newer than the store can be introspected and revoked by its client', async () => {
    const t = await startServer();
    const client = { client_id: 'web', client_secret: 'web-secret' };
    const { body } = await t.post('/token', {
      ...(await codeOf(t, client.client_id)),
      ...client,
    });
    backUp(t);
    const { body: next } = await t.post('/token', { ...refreshing(body['refresh_token']), ...client });
    restore(t);
    const about = { token: String(next['refresh_token']), ...client };
    expect((await t.post('/introspect', about)).body['active']).toBe(true);
    await t.post('/revoke', about);
    expect((await t.post('/introspect', about)).body['active']).toBe(false);
  });

  it('forged numbers that are newer than the store change nothing', async () => {
    const { t, token } = await started();
    const before = t.snapshot();
    for (const number of ['1', '2', 'zz']) {
      expect((await refresh(t, token.replace('~0~', `~${number}~`))).error).toBe('invalid_grant');
    }
    expect(t.snapshot()).toBe(before);
    expect((await refresh(t, token)).status).toBe(200);
  });

  it('newer tokens are refused where the options say so, and revoke nothing', async () => {
    const { t, token } = await started({ acceptNewerRefreshTokens: false });
    backUp(t);
    const [, newest] = await refreshTimes(t, token, 1);
    restore(t);
    const before = t.snapshot();
    expect((await refresh(t, newest)).error).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    expect((await refresh(t, token)).status).toBe(200);
  });
});

async function codeOf(t: ServerUnderTest, clientId: string): Promise<Record<string, string>> {
  const { code, verifier } = await t.issueCode({ clientId, redirectUri: CALLBACK });
  return { ...redemption(code, verifier, clientId), redirect_uri: CALLBACK };
}

describe('a rejected refresh', () => {
  it.each([
    ['an unknown scope', { scope: 'admin' }, 'invalid_scope'],
    ['a scope of another resource', { scope: 'files:read' }, 'invalid_scope'],
    ['a malformed scope', { scope: 'a"b' }, 'invalid_scope'],
    ['another resource', { resource: FILES }, 'invalid_target'],
    ['an unknown resource', { resource: 'https://evil.example' }, 'invalid_target'],
    ['a resource with a fragment', { resource: `${NOTES}#x` }, 'invalid_target'],
    ['no refresh token', { refresh_token: '' }, 'invalid_request'],
    ['an unknown refresh token', { refresh_token: 'x'.repeat(43) }, 'invalid_grant'],
  ])(
    '[AS-REF-64 AS-REF-66 AS-REF-67 AS-TOK-69 AS-TOK-70 AS-TOK-71] a rejected refresh consumes nothing: %s',
    async (_what, change, error) => {
      const { t, token } = await started();
      const before = t.snapshot();
      expect(await refresh(t, token, change)).toMatchObject({ status: 400, error });
      expect(t.snapshot()).toBe(before);
      expect((await refresh(t, token)).status).toBe(200);
    },
  );

  it('[AS-REF-60] T027 rejects a refresh token issued to another client, without affecting its owner', async () => {
    const { t, token } = await started();
    const { body } = await t.register({
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    });
    const before = t.snapshot();
    expect(await refresh(t, token, { client_id: String(body['client_id']) })).toMatchObject({
      status: 400,
      error: 'invalid_grant',
    });
    expect(t.snapshot()).toBe(before);
    expect((await refresh(t, token)).status).toBe(200);
  });

  it('rejects a refresh by a client that has not registered the grant type', async () => {
    const t = await startServer();
    const { body } = await t.register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' });
    expect(await refresh(t, 'x', { client_id: String(body['client_id']) })).toMatchObject({
      status: 400,
      error: 'unauthorized_client',
    });
  });

  it('[AS-REF-68] rejects a refresh token past its idle timeout', async () => {
    const { t, token } = await started();
    t.clock.now += 30 * DAY - 1;
    const next = await refresh(t, token);
    expect(next.status).toBe(200);
    t.clock.now += 30 * DAY;
    expect(await refresh(t, next.token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('[AS-REF-68 AS-TTL-3] rejects a refresh token of an expired grant, however often it was refreshed', async () => {
    const { t, token } = await started({ lifetimes: { grant: 100 * DAY } });
    let current = token;
    for (const days of [25, 25, 25, 24]) {
      t.clock.now += days * DAY;
      const next = await refresh(t, current);
      expect([next.status, next.body['expires_in']]).toEqual([200, 600]);
      current = next.token;
    }
    t.clock.now += DAY - 60;
    const last = await refresh(t, current);
    expect([last.status, last.body['expires_in']]).toEqual([200, 60]);
    t.clock.now += 60;
    expect(await refresh(t, last.token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('[AS-REF-68 AS-TTL-3] no refresh token outlives its grant, neither as stored nor when it is newer than the store', async () => {
    const { t, token, accessToken } = await started({ lifetimes: { grant: 40 * DAY } });
    const end = t.clock.now + 40 * DAY;
    const id = String(claimsOf(accessToken)['grant_id']);
    backUp(t);
    t.clock.now += 20 * DAY;
    const [, second = '', newest = ''] = await refreshTimes(t, token, 2);
    expect((await t.store.findGrant(id))?.token?.expiresAt).toBe(end);
    // Whatever is stored of the token, its grant has the last word.
    t.execute(`UPDATE grants SET refresh_token_expires_at = ${end + DAY}`);
    t.clock.now = end;
    const before = t.snapshot();
    for (const one of [second, newest]) expect((await refresh(t, one)).error).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    restore(t);
    expect((await refresh(t, newest)).error).toBe('invalid_grant');
    t.clock.now = end - 1;
    expect((await refresh(t, newest)).status).toBe(200);
  });

  it('[AS-REF-69] rejects a refresh token of a revoked grant', async () => {
    const { t, token, accessToken } = await started();
    await t.store.revokeGrant(String(claimsOf(accessToken)['grant_id']), t.clock.now);
    expect(await refresh(t, token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('[AS-REF-69] rejects a refresh token of a disabled or removed account, without rotation', async () => {
    const real = await openEmptyStore();
    let hasAccount = true;
    const store: AuthorizationStore = {
      ...real,
      // The grant itself is live: revocation together with the account is tested elsewhere.
      async findGrant(id) {
        const found = await real.findGrant(id);
        return found === null ? null : { ...found, grant: { ...found.grant, hasAccount } };
      },
    };
    const { t, token, accessToken } = await started({ store });
    const next = await refresh(t, token);
    expect(next.status).toBe(200);
    const id = String(claimsOf(accessToken)['grant_id']);
    const before = await real.findGrant(id);
    expect(before?.grant.hasAccount).toBe(true);
    hasAccount = false;
    expect(await refresh(t, next.token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await real.findGrant(id)).toEqual(before);
    hasAccount = true;
    expect((await refresh(t, next.token)).status).toBe(200);
  });
});

describe('scopes and resources', () => {
  it('[AS-REF-64 AS-REF-65 AS-TOK-66] a refresh downscopes one access token only', async () => {
    const { t, token } = await started();
    const narrow = await refresh(t, token, { scope: 'notes:read' });
    expect([narrow.body['scope'], claimsOf(narrow.body['access_token'])['scope']]).toEqual([
      'notes:read',
      'notes:read',
    ]);
    const whole = await refresh(t, narrow.token);
    expect(whole.body['scope']).toBe('notes:read notes:write');
  });

  it.each(['notes:read notes:write', 'notes:write', 'files:read'])(
    '[AS-REF-64] a refresh never widens the scopes of its grant to %j',
    async (scope) => {
      const t = await startServer();
      const { body } = await t.signIn({ scopes: ['notes:read'] });
      const before = t.snapshot();
      const wider = await refresh(t, body['refresh_token'], { scope });
      expect([wider.status, wider.body['error']]).toEqual([400, 'invalid_scope']);
      expect(t.snapshot()).toBe(before);
      expect((await refresh(t, body['refresh_token'])).body['scope']).toBe('notes:read');
    },
  );

  it('a refresh may request a scope that a granted scope implies', async () => {
    const t = await startServer();
    const { body } = await t.signIn({ scopes: ['notes:write'] });
    expect((await refresh(t, body['refresh_token'], { scope: 'notes:read' })).body['scope']).toBe(
      'notes:read',
    );
  });

  it('[AS-REF-66 AS-RES-62] a refresh may pick one of the granted resources', async () => {
    const t = await startServer();
    const { body } = await t.signIn({ resources: [NOTES, FILES], scopes: ['notes:read', 'files:read'] });
    const files = await refresh(t, body['refresh_token'], { resource: FILES });
    expect(claimsOf(files.body['access_token'])).toMatchObject({ aud: FILES, scope: 'files:read' });
    const first = await refresh(t, files.token);
    expect(claimsOf(first.body['access_token'])).toMatchObject({ aud: NOTES, scope: 'notes:read' });
  });

  it('a refresh issues no scope or resource that was removed from the configuration', async () => {
    const store = await openEmptyStore();
    const before = await startServer({ store });
    const { body } = await before.signIn({ resources: [FILES], scopes: ['files:read'] });
    const resources = [{ resource: NOTES, name: 'Notes', scopes: { 'notes:read': 'Read your notes' } }];
    const after = await startServer({ store: { ...store, close: async () => {} }, resources });
    expect(await refresh(after, body['refresh_token'])).toMatchObject({
      status: 400,
      error: 'invalid_target',
    });
    const { body: notes } = await before.signIn({ resources: [NOTES] });
    expect((await refresh(after, notes['refresh_token'])).body['scope']).toBe('notes:read');
  });
});
