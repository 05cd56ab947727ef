/** Key rotation: next, signing, past and removed keys; by schedule and by command, in several processes at once. */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { createLocalJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createGuard, jwtVerifier } from '../../resource-server/src/index.ts';
import { createEncryptor } from '../src/encryption/encryptor.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  ConfigurationError,
  createAuthorizationServer,
  createKeyAdministration,
} from '../src/index.ts';
import { rotationSchedule } from '../src/keys/rotation-schedule.ts';
import { decryptSigningKey } from '../src/keys/signing-key.ts';
import type { SigningKeyRecord } from '../src/store/index.ts';
import {
  CLIENTS,
  claimsOf,
  ISSUER,
  MASTER_KEY,
  NOTES,
  RESOURCES,
  refreshing,
  startServer,
} from './server-under-test.ts';

const NEW_MASTER_KEY = new Uint8Array(32).fill(9);
const DAY = 86_400;
const rotation = { rotateEvery: 90 * DAY, prepublish: 3600 };

describe('the rotation schedule', () => {
  const [first, second, third] = [{ signsFrom: 100 }, { signsFrom: 200 }, { signsFrom: 300 }] as const;
  it.each([
    { now: 50, keys: [first], signing: first, published: [first], retired: [], changesAt: Number.POSITIVE_INFINITY },
    { now: 199, keys: [second, first], signing: first, published: [first, second], retired: [], changesAt: 200 },
    { now: 200, keys: [second, first], signing: second, published: [second, first], retired: [], changesAt: 220 },
    { now: 219, keys: [first, second], signing: second, published: [second, first], retired: [], changesAt: 220 },
    { now: 220, keys: [first, second], signing: second, published: [second], retired: [first], changesAt: Number.POSITIVE_INFINITY },
    { now: 210, keys: [first, second, third], signing: second, published: [second, third, first], retired: [], changesAt: 220 },
    { now: 500, keys: [third, second, first], signing: third, published: [third], retired: [first, second], changesAt: Number.POSITIVE_INFINITY },
  ])('the rotation schedule at $now of $keys', ({ now, keys, ...expected }) => {
    expect(rotationSchedule<{ signsFrom: number }>(keys, now, 20)).toEqual(expected);
  }); // biome-ignore format: a table
});

const kidOf = (token: unknown) => decodeProtectedHeader(String(token)).kid;
const kidsOf = async (server: AuthorizationServer) => (await server.jwks()).keys.map(({ kid }) => kid);

describe('scheduled rotation', () => {
  it('T064 rotation publishes the new key before it signs, and the old one as long as tokens live', async () => {
    const { server, clock, signIn, send, events } = await startServer({ keys: rotation });
    const [old] = await kidsOf(server);
    const firstDay = clock.now;
    clock.now = firstDay + 90 * DAY - 3631;
    expect(await kidsOf(server)).toEqual([old]);

    clock.now = firstDay + 90 * DAY - 3600;
    const [signing, next, ...more] = await kidsOf(server);
    expect([signing, more]).toEqual([old, []]);
    expect(next).toMatch(/^key_/);
    expect(events).toContainEqual({ type: 'key.rotated', keyId: next });
    expect(kidOf((await signIn()).body['access_token'])).toBe(old);

    clock.now += 3599;
    const last = (await signIn()).body['access_token'];
    expect(kidOf(last)).toBe(old);
    clock.now += 1;
    const { body } = await signIn();
    expect(kidOf(body['access_token'])).toBe(next);

    clock.now += 599;
    const set = (await send('/jwks')).body as { keys: JWK[] };
    expect(set.keys.map(({ kid }) => kid)).toEqual([next, old]);
    expect(JSON.stringify(set)).not.toMatch(/"(d|k|p|q|dp|dq|qi|oth)":/);
    const checks = { issuer: ISSUER, audience: NOTES, currentDate: new Date((clock.now - 1) * 1000) };
    await jwtVerify(String(last), createLocalJWKSet(set), checks);

    clock.now += 91;
    expect(await kidsOf(server)).toEqual([next]);
    clock.now += 30;
    await send('/jwks');
    expect(events).toContainEqual({ type: 'key.removed', keyId: old });
  });

  it('keys are rotated once, however many processes share the store', async () => {
    const t = await startServer({ keys: rotation });
    const others = await Promise.all(
      [1, 2, 3].map(() =>
        createAuthorizationServer({
          issuer: ISSUER,
          store: t.store,
          masterKey: MASTER_KEY,
          resources: RESOURCES,
          clients: CLIENTS,
          clock: () => t.clock.now,
          keys: rotation,
        }),
      ),
    );
    t.clock.now += 90 * DAY;
    const kids = await Promise.all([t.server, ...others].map(kidsOf));
    expect(await t.store.listSigningKeys()).toHaveLength(2);
    t.clock.now += 30;
    for (const server of others) expect(await kidsOf(server)).toEqual(await kidsOf(t.server));
    expect(kids.every((set) => set[0] === kids[0]?.[0])).toBe(true);
  });

  it.each([
    { description: 'has published a key', ticks: [0], remaining: 2 },
    { description: 'has replaced every key', ticks: [0, 3600, 700], remaining: 1 },
  ])(
    'T064 rotation goes on after a clock that was 400 days ahead $description',
    async ({ ticks, remaining }) => {
      const { server, store, clock, signIn } = await startServer({ keys: rotation });
      const firstDay = clock.now;
      clock.now += 400 * DAY;
      for (const seconds of ticks) {
        clock.now += seconds;
        await kidsOf(server);
      }
      const known = await store.listSigningKeys();
      expect(known).toHaveLength(remaining);

      clock.now = firstDay + 90 * DAY - 3600;
      await kidsOf(server);
      clock.now += 3600;
      const kid = kidOf((await signIn()).body['access_token']);
      expect(known.map(({ id }) => id)).not.toContain(kid);
      clock.now += 90 * DAY - 3600;
      await kidsOf(server);
      clock.now += 3600;
      const next = kidOf((await signIn()).body['access_token']);
      expect([...known.map(({ id }) => id), kid]).not.toContain(next);
      expect(await store.listSigningKeys()).toHaveLength(3);
    },
  );

  it('T064 a process whose clock is hours slow creates no key beside one that signs', async () => {
    const t = await startServer({ keys: rotation });
    const slow = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now - 3 * 3600,
      keys: rotation,
    });
    const before = await t.store.listSigningKeys();
    t.clock.now += 30;
    expect(await kidsOf(slow)).toEqual(await kidsOf(t.server));
    expect(await t.store.listSigningKeys()).toEqual(before);
    t.clock.now += 90 * DAY + 3 * 3600;
    await kidsOf(slow);
    expect(await t.store.listSigningKeys()).toHaveLength(2);
  });

  it('scheduled rotation can be switched off', async () => {
    const { server, clock } = await startServer({ keys: { rotateEvery: null } });
    clock.now += 3650 * DAY;
    expect(await kidsOf(server)).toHaveLength(1);
  });

  it('keys stay in use while the store is unavailable', async () => {
    const store = await openEmptyStore();
    let isAway = false;
    const listKeys = () =>
      isAway ? Promise.reject(temporarilyUnavailable('away')) : store.listSigningKeys();
    const { server, clock, events, send } = await startServer({
      store: { ...store, listSigningKeys: listKeys },
    });
    const before = await kidsOf(server);
    isAway = true;
    clock.now += 31;
    expect(await kidsOf(server)).toEqual(before);
    expect((await send('/jwks')).status).toBe(200);
    expect(events).toContainEqual({ type: 'key_ring.refresh_failed', reason: 'away' });
  });
});

describe('rotation by command', () => {
  const administer = (t: Awaited<ReturnType<typeof startServer>>, more: object = {}) =>
    createKeyAdministration({
      store: t.store,
      masterKey: MASTER_KEY,
      clock: () => t.clock.now,
      keys: rotation,
      ...more,
    });

  it.each([
    { replacement: 'in-time', signsAfter: 3600, states: ['next', 'signing'] },
    { replacement: 'at-once', signsAfter: 0, states: ['signing', 'past'] },
    { replacement: 'compromised', signsAfter: 0, states: ['signing'] },
  ] as const)(
    'running servers notice a rotation by command: $replacement',
    async ({ replacement, signsAfter, states }) => {
      const t = await startServer({ keys: rotation });
      const [old] = await kidsOf(t.server);
      const token = String((await t.signIn()).body['access_token']);
      const authorization = `Basic ${btoa('notes-server:notes-server-secret')}`;
      const isActive = async () => (await t.post('/introspect', { token }, { authorization })).body['active'];
      expect(await isActive()).toBe(true);
      t.clock.now += 1;
      const listed = await administer(t).rotate(replacement);
      expect(listed.map(({ state }) => state)).toEqual(states);
      const [made] = listed;
      expect(made).toMatchObject({
        algorithm: 'ES256',
        canDecrypt: true,
        signsFrom: t.clock.now + signsAfter,
      });

      t.clock.now += 30;
      expect((await kidsOf(t.server)).toSorted()).toEqual(
        (replacement === 'compromised' ? [made?.id] : [made?.id, old]).toSorted(),
      );
      t.clock.now += signsAfter;
      expect(kidOf((await t.signIn()).body['access_token'])).toBe(made?.id);
      const isExpired = signsAfter > 600;
      expect(await isActive()).toBe(replacement !== 'compromised' && !isExpired);
    },
  );

  it.each([
    { replacement: 'in-time', states: ['next', 'next', 'signing'] },
    { replacement: 'at-once', states: ['signing', 'next', 'past'] },
    { replacement: 'compromised', states: ['signing'] },
  ] as const)(
    'rotation by command takes effect after a clock that was 400 days ahead: $replacement',
    async ({ replacement, states }) => {
      const t = await startServer({ keys: rotation });
      const firstDay = t.clock.now;
      t.clock.now += 400 * DAY;
      await kidsOf(t.server);
      t.clock.now = firstDay + 60;
      const listed = await administer(t).rotate(replacement);
      expect(listed.map(({ state }) => state)).toEqual(states);
      const delay = replacement === 'in-time' ? 3600 : 0;
      expect(listed[0]?.signsFrom).toBe(t.clock.now + delay);
      t.clock.now += delay + 30;
      await kidsOf(t.server);
      expect(kidOf((await t.signIn()).body['access_token'])).toBe(listed[0]?.id);
    },
  );

  it('tokens of a compromised key are refused within half a minute by the guards of all processes, also those that they verified before', async () => {
    const t = await startServer({ keys: rotation });
    const { server, store, clock } = t;
    const options = { issuer: ISSUER, masterKey: MASTER_KEY, resources: RESOURCES, clients: CLIENTS };
    const other = await createAuthorizationServer({ ...options, store, clock: () => clock.now });
    onTestFinished(() => other.close());
    const guards = [server, other].map(({ jwks, isLive }) =>
      createGuard({
        ...{ resource: NOTES, clock: () => clock.now, events: () => {} },
        verifier: jwtVerifier({ issuer: ISSUER, jwks, isLive }),
      }),
    );
    const [key] = await store.listSigningKeys();
    const stolen = decryptSigningKey(key as SigningKeyRecord, createEncryptor(MASTER_KEY));
    const tokenOf = async () => String((await t.signIn()).body['access_token']);
    const [used, unused] = [await tokenOf(), await tokenOf()];
    // A forged token lasts as long as the thief chooses, and names no key, so that only the one that verifies it is known.
    const head = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt' })).toString('base64url');
    const body = Buffer.from(JSON.stringify({ ...claimsOf(used), exp: clock.now + 10 * DAY })).toString(
      'base64url',
    );
    const forged = `${head}.${body}.${stolen.sign(`${head}.${body}`).toString('base64url')}`;
    const statuses = (token: string) =>
      Promise.all(
        guards.map(async (guard) => {
          const decision = await guard.authorize({
            method: 'GET',
            url: '/',
            authorization: `Bearer ${token}`,
          });
          return decision.authorized ? 200 : decision.response.status;
        }),
      );
    for (const token of [used, forged]) expect(await statuses(token)).toEqual([200, 200]);

    clock.now += 1;
    await administer(t).rotate('compromised');
    clock.now += 30;
    for (const token of [used, forged, unused]) expect(await statuses(token)).toEqual([401, 401]);
    expect(await statuses(await tokenOf())).toEqual([200, 200]);
  });

  it('rotations by command in one second take effect in their order', async () => {
    const t = await startServer({ keys: rotation });
    for (const _ of [1, 2, 3]) await administer(t).rotate('at-once');
    t.clock.now += 30;
    const [newest, ...others] = await administer(t).list();
    expect([newest?.state, ...others.map(({ state }) => state)]).toEqual(['signing', 'past', 'past', 'past']);
  });

  it('rotation by command creates the first key of an empty store', async () => {
    const store = await openEmptyStore();
    const keys = createKeyAdministration({ store, masterKey: MASTER_KEY });
    expect(await keys.list()).toEqual([]);
    expect(await keys.rotate('at-once')).toMatchObject([{ state: 'signing' }]);
    await store.close();
  });

  it('rotation by command fails under another master key, and changes nothing', async () => {
    const t = await startServer();
    const before = await t.store.listSigningKeys();
    const keys = administer(t, { masterKey: NEW_MASTER_KEY });
    await expect(keys.rotate('in-time')).rejects.toThrow(/masterKey does not decrypt key_/);
    expect(await keys.list()).toMatchObject([{ canDecrypt: false }]);
    expect(await t.store.listSigningKeys()).toEqual(before);
  });
});

describe('a lost master key', () => {
  it('gives up what was encrypted under a lost master key, and nothing else', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const dataKey = { id: 'data-key_lost', encryptedKey: new Uint8Array(93).fill(7), createdAt: t.clock.now };
    await t.store.addDataKey(dataKey, null);
    const [{ id: lost } = { id: '' }] = await t.store.listSigningKeys();
    const administerBy = (masterKey: Uint8Array) =>
      createKeyAdministration({ store: t.store, masterKey, clock: () => t.clock.now });
    expect(await administerBy(MASTER_KEY).listLost()).toEqual({ signing: [], data: ['data-key_lost'] });

    const keys = administerBy(NEW_MASTER_KEY);
    expect(await keys.listLost()).toEqual({ signing: [lost], data: ['data-key_lost'] });
    expect(await keys.discard()).toEqual({ signing: [lost], data: ['data-key_lost'], endedGrants: 0 });
    expect([await t.store.listSigningKeys(), await t.store.listDataKeys()]).toEqual([[], []]);
    expect(await keys.discard()).toEqual({ signing: [], data: [], endedGrants: 0 });

    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: NEW_MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now,
    });
    expect(await kidsOf(server)).not.toContain(lost);
    // The grant is live: its refresh token yields an access token signed by the new key.
    const response = await server.handle(
      new Request(`${ISSUER}/token`, {
        method: 'POST',
        body: new URLSearchParams(refreshing(body['refresh_token'])),
      }),
    );
    expect(response.status).toBe(200);
  });
});

describe('algorithms', () => {
  it.each([
    { algorithm: 'ES256', members: ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'] },
    { algorithm: 'EdDSA', members: ['alg', 'crv', 'kid', 'kty', 'use', 'x'] },
    { algorithm: 'RS256', members: ['alg', 'e', 'kid', 'kty', 'n', 'use'] },
  ] as const)('T064 $algorithm signs tokens that others verify and this server reads back', async (row) => {
    const { server, signIn, post } = await startServer({ keys: { algorithm: row.algorithm } });
    const { keys } = await server.jwks();
    expect(keys.map((key) => Object.keys(key).toSorted())).toEqual([row.members]);
    const token = String((await signIn()).body['access_token']);
    const { protectedHeader } = await jwtVerify(
      token,
      createLocalJWKSet({ keys: keys as unknown as JWK[] }),
      {
        issuer: ISSUER,
        audience: NOTES,
        typ: 'at+jwt',
        currentDate: new Date(1_800_000_000_000),
      },
    );
    expect(protectedHeader.alg).toBe(row.algorithm);
    const authorization = `Basic ${btoa('notes-server:notes-server-secret')}`;
    expect((await post('/introspect', { token }, { authorization })).body['active']).toBe(true);
    const changed = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
    expect((await post('/introspect', { token: changed }, { authorization })).body).toEqual({
      active: false,
    });
  });

  it('a configured algorithm takes effect by a scheduled rotation', async () => {
    const t = await startServer();
    const [old] = await kidsOf(t.server);
    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now,
      keys: { algorithm: 'EdDSA' },
    });
    const { keys } = await server.jwks();
    expect(keys.map(({ alg }) => alg)).toEqual(['ES256', 'EdDSA']);
    expect(keys[0]?.kid).toBe(old);
  });

  it.each([
    [{ algorithm: 'HS256' }, /keys\.algorithm must be one of ES256, EdDSA, RS256/],
    [{ prepublish: 329 }, /keys\.prepublish must be a whole number of seconds from 330/],
    [{ rotateEvery: 7199 }, /keys\.rotateEvery must be at least twice/],
  ])('rejects key options out of range: %j', async (keys, says) => {
    const store = await openEmptyStore();
    const options = { issuer: ISSUER, store, masterKey: MASTER_KEY, resources: RESOURCES };
    const start = createAuthorizationServer({
      ...options,
      keys: keys as AuthorizationServerOptions['keys'] & object,
    });
    await expect(start).rejects.toThrow(ConfigurationError);
    await expect(start).rejects.toThrow(says);
    expect(await store.listSigningKeys()).toEqual([]);
    await store.close();
  });
});

describe('a new master key', () => {
  const start = (t: Awaited<ReturnType<typeof startServer>>, more: Partial<AuthorizationServerOptions>) =>
    createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: NEW_MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now,
      ...more,
    });

  it('a new master key decrypts the keys after re-encryption, and the old one does not', async () => {
    const t = await startServer();
    const before = await kidsOf(t.server);
    await expect(start(t, {})).rejects.toThrow(/masterKey does not decrypt/);
    const keys = createKeyAdministration({ store: t.store, masterKey: MASTER_KEY });
    expect(await keys.reencrypt(NEW_MASTER_KEY)).toBe(1);
    expect(await kidsOf(await start(t, {}))).toEqual(before);
    await expect(start(t, { masterKey: MASTER_KEY })).rejects.toThrow(/masterKey does not decrypt/);
    // Running servers continue.
    t.clock.now += 31;
    expect(await kidsOf(t.server)).toEqual(before);
    expect((await t.signIn()).status).toBe(200);
    // A second run does no harm.
    expect(await keys.reencrypt(NEW_MASTER_KEY)).toBe(1);
  });

  it('re-encryption fails when the old master key does not decrypt every key, and changes nothing', async () => {
    const t = await startServer();
    const before = await t.store.listSigningKeys();
    const keys = createKeyAdministration({ store: t.store, masterKey: new Uint8Array(32).fill(1) });
    await expect(keys.reencrypt(NEW_MASTER_KEY)).rejects.toThrow(/does not decrypt key_/);
    expect(await t.store.listSigningKeys()).toEqual(before);
  });

  it('a new master key gives retried refreshes the successor from before', async () => {
    const t = await startServer();
    const { refresh_token: token } = (await t.signIn()).body;
    const first = await t.post('/token', refreshing(token));
    expect(first.status).toBe(200);
    const server = await start(t, { previousMasterKeys: [MASTER_KEY] });
    const retry = await server.handle(
      new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(refreshing(token)) }),
    );
    const { refresh_token: again } = (await retry.json()) as { refresh_token: string };
    expect(again).toBe(first.body['refresh_token']);
    // And in the other order: first the process with the old key.
    const next = await server.handle(
      new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(refreshing(again)) }),
    );
    const old = await start(t, { masterKey: MASTER_KEY, previousMasterKeys: [NEW_MASTER_KEY] });
    const late = await old.handle(
      new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(refreshing(again)) }),
    );
    expect(((await late.json()) as { refresh_token: string }).refresh_token).toBe(
      ((await next.json()) as { refresh_token: string }).refresh_token,
    );
  });

  it('creates no key while others are encrypted under a newer master key', async () => {
    const t = await startServer({ keys: rotation, previousMasterKeys: [NEW_MASTER_KEY] });
    await createKeyAdministration({ store: t.store, masterKey: MASTER_KEY }).reencrypt(NEW_MASTER_KEY);
    t.clock.now += 91 * DAY;
    expect(await kidsOf(t.server)).toHaveLength(1);
    const newer = await start(t, { keys: rotation });
    t.clock.now += 31;
    expect(await kidsOf(newer)).toHaveLength(2);
    t.clock.now += 31;
    expect(await kidsOf(t.server)).toHaveLength(2);
  });
});
