/** The token vault's data keys: rotated, re-encrypted and lost, without an interruption. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGithub } from '../../../tests/support/identity-providers/github.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
  createKeyAdministration,
} from '../src/index.ts';
import {
  type FederationScene,
  logInByProvider,
  plain,
  redeemAt,
  setFederationScene,
  startProvider,
  until,
} from './federation-scene.ts';
import { CLIENTS, claimsOf, ISSUER, MASTER_KEY, RESOURCES } from './server-under-test.ts';
import { createVisitor } from './visitor.ts';

const NEW_MASTER_KEY = new Uint8Array(32).fill(9);
const DAY = 86_400;

async function setScene() {
  const hub = await startProvider(startGithub, 'hub');
  const t = await setFederationScene([plain(hub)]);
  const start = async (options: Partial<AuthorizationServerOptions>): Promise<AuthorizationServer> => {
    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      identityProviders: [plain(hub)],
      localAccounts: false,
      clock: () => t.clock.now,
      ...options,
    });
    onTestFinished(() => server.close());
    return server;
  };
  return { t, start };
}

async function signIn(
  t: FederationScene,
  server: AuthorizationServer = t.server,
): Promise<AccessTokenClaims> {
  const scene = { ...t, server };
  const visitor = createVisitor(server);
  const { body } = await redeemAt(scene, await logInByProvider(visitor));
  return claimsOf(body['access_token']) as never;
}

/** Signs in until the server encrypts under the second data key, which it creates in the background. */
async function signInUnderSecondKey(
  t: FederationScene,
  server: AuthorizationServer,
): Promise<AccessTokenClaims> {
  const claims = await signIn(t, server);
  const [newest, oldest] = await t.store.listDataKeys();
  const tokens = await t.store.findProviderTokens(String(claims.grant_id));
  const isUnderSecond = oldest !== undefined && tokens?.dataKeyId === newest?.id;
  return isUnderSecond ? claims : signInUnderSecondKey(t, server);
}

describe('[GW-3P-14] the keys of the vault', () => {
  it('data keys are re-encrypted under a new master key, without an interruption', async () => {
    const { t, start } = await setScene();
    const claims = await signIn(t);
    await expect(start({ masterKey: NEW_MASTER_KEY })).rejects.toThrow(/masterKey does not decrypt/);
    const both = await start({ masterKey: NEW_MASTER_KEY, previousMasterKeys: [MASTER_KEY] });
    expect(await both.upstreamToken(claims)).toBeDefined();

    const administration = createKeyAdministration({ store: t.store, masterKey: MASTER_KEY });
    expect(await administration.reencrypt(NEW_MASTER_KEY)).toBe(2);
    const next = await start({ masterKey: NEW_MASTER_KEY });
    expect(await next.upstreamToken(claims)).toBeDefined();
    await expect(start({})).rejects.toThrow(/masterKey does not decrypt/);
    // Running servers continue, also when they load new keys.
    t.clock.now += 3600;
    expect(await t.server.upstreamToken({ ...claims, exp: t.clock.now + 60 })).toBeDefined();
    // A second run does no harm.
    expect(await administration.reencrypt(NEW_MASTER_KEY)).toBe(2);
  });

  it('data keys stay unchanged when the old master key does not decrypt them', async () => {
    const { t } = await setScene();
    const before = await t.store.listDataKeys();
    expect(before).toHaveLength(1);
    const wrong = createKeyAdministration({ store: t.store, masterKey: new Uint8Array(32).fill(1) });
    await expect(wrong.reencrypt(NEW_MASTER_KEY)).rejects.toThrow(/does not decrypt/);
    expect(await t.store.listDataKeys()).toEqual(before);
  });

  it('data keys rotate after a month, and each process decrypts what another has encrypted', async () => {
    const { t, start } = await setScene();
    const claims = await signIn(t);
    t.clock.now += 30 * DAY;
    const next = await start({});
    const later = await signInUnderSecondKey(t, next);
    const alive = { exp: t.clock.now + 60 };
    for (const server of [t.server, next]) {
      expect(await server.upstreamToken({ ...claims, ...alive })).toBeDefined();
      expect(await server.upstreamToken({ ...later, ...alive })).toBeDefined();
    }
    const [newest, oldest] = await t.store.listDataKeys();
    expect((await t.store.findProviderTokens(String(later.grant_id)))?.dataKeyId).toBe(newest?.id);
    expect((await t.store.findProviderTokens(String(claims.grant_id)))?.dataKeyId).toBe(oldest?.id);
  });

  it('a data key of another process is used, although the clock was ahead when the last ones were loaded', async () => {
    const { t, start } = await setScene();
    await signIn(t);
    t.clock.now += 60 * DAY;
    await signIn(t);
    t.clock.now -= 30 * DAY;
    await start({});
    await until(async () => (await t.store.listDataKeys()).length === 2);
    const { grant_id: grantId } = await signIn(t);
    const [newest] = await t.store.listDataKeys();
    expect((await t.store.findProviderTokens(String(grantId)))?.dataKeyId).toBe(newest?.id);
  });

  it('a process without the new master key is temporarily unavailable for what is encrypted under a newer data key', async () => {
    const { t, start } = await setScene();
    const claims = await signIn(t);
    await createKeyAdministration({ store: t.store, masterKey: MASTER_KEY }).reencrypt(NEW_MASTER_KEY);
    t.clock.now += 31 * DAY;
    const next = await start({ masterKey: NEW_MASTER_KEY, previousMasterKeys: [MASTER_KEY] });
    const later = await signInUnderSecondKey(t, next);
    await expect(t.server.upstreamToken(later)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(await next.upstreamToken(later)).toBeDefined();
    expect(await t.server.upstreamToken({ ...claims, exp: t.clock.now + 60 })).toBeDefined();
  });

  it('data keys decrypt nothing that was moved to another grant', async () => {
    const { t, start } = await setScene();
    const [one, two] = [await signIn(t), await signIn(t)];
    const stolen = await t.store.findProviderTokens(String(one.grant_id));
    const mine = String(two.grant_id);
    if (stolen === null) throw new Error('there are no provider tokens');
    await t.store.leaseProviderTokens(mine, 1, 'thief', t.clock.now, t.clock.now + 5);
    await t.store.saveRefreshedProviderTokens(mine, 'thief', stolen);
    const server = await start({});
    await expect(server.upstreamToken(two)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(await server.upstreamToken(one)).toBeDefined();
  });
});
