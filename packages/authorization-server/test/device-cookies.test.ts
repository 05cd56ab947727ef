/** Device cookies (OWASP): owners log in from known browsers while an attacker guesses passwords. */

import { describe, expect, it } from 'vitest';
import { inSession } from '../../store/testing/samples.ts';
import { createAuthorizationServer } from '../src/index.ts';
import type { ServerOptions } from '../src/options.ts';
import { createLoginThrottle } from '../src/rate-limit/login-throttle.ts';
import { defaultRateLimits } from '../src/rate-limit/policies.ts';
import { createDeviceCookies } from '../src/users/device-cookie.ts';
import { ACCOUNT, CLIENTS, ISSUER, MASTER_KEY, RESOURCES, startServer } from './server-under-test.ts';
import {
  createVisitor,
  EMAIL,
  PASSWORD,
  type Scene,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

const COOKIE = '__Host-portcullis-known-browser';
const SESSION = '__Host-portcullis-session';
const DAY = 86_400;
const LIFETIME = 180 * DAY;
const OTHER_KEY = new Uint8Array(32).fill(9);
const ON_THE_WAY = '198.51.100.77';

/** Signs in for the page of the account, which keeps nothing before it is right; who gets in ends there. */
async function attempt(visitor: Visitor, password: string): Promise<Sight> {
  visitor.cookies.delete(SESSION);
  return visitor.submit(await visitor.open('/login?to=account'), { email: EMAIL, password });
}

/** Guesses from so many networks that unknown browsers have to wait. */
async function besiege({ server }: Pick<Scene, 'server'>): Promise<void> {
  for (let n = 0; n < 30; n++) {
    const { status } = await attempt(createVisitor(server, `2001:db8:${n >> 2}::1`), `guess ${n}`);
    expect(status).toBe(400);
  }
}

/** The browser of a visitor, moved elsewhere, with nothing but the cookie that it is known by. */
function onTheWay(t: Scene, visitor: Visitor, server: Scene['server'] = t.server): Visitor {
  const moved = createVisitor(server, ON_THE_WAY);
  const value = visitor.cookies.get(COOKIE);
  if (value !== undefined) moved.cookies.set(COOKIE, value);
  return moved;
}

/** The same server, started again: perhaps with other master keys. */
const restart = (t: Scene, masterKey = MASTER_KEY, previousMasterKeys: readonly Uint8Array[] = []) =>
  createAuthorizationServer({
    issuer: ISSUER,
    store: t.store,
    masterKey,
    previousMasterKeys,
    resources: RESOURCES,
    clients: CLIENTS,
    clock: () => t.clock.now,
  });

describe('the device cookie', () => {
  it('the device cookie is host-only, HttpOnly and SameSite, lasts 180 days, and is renewed at every login', async () => {
    const t = await setScene();
    const sight = await attempt(t.visitor, PASSWORD);
    const lines = sight.trail.flatMap(({ headers }) => headers.getSetCookie());
    const attributes = `Max-Age=${LIFETIME}; Path=/; HttpOnly; SameSite=Lax; Secure`;
    expect(lines.filter((line) => line.startsWith(COOKIE))).toEqual([
      expect.stringMatching(new RegExp(`^${COOKIE}=[\\w-]{43}; ${attributes}$`)),
    ]);
    const first = t.visitor.cookies.get(COOKIE);
    await attempt(t.visitor, PASSWORD);
    expect(t.visitor.cookies.get(COOKIE)).toMatch(/^[\w-]{43}$/);
    expect(t.visitor.cookies.get(COOKIE)).not.toBe(first);
    expect(t.snapshot()).not.toContain(String(first));
  });

  it('a failed login sets no device cookie, and a device cookie signs no user in', async () => {
    const t = await setScene();
    expect((await attempt(t.newVisitor(), 'wrong')).headers.getSetCookie()).toEqual([]);
    await attempt(t.visitor, PASSWORD);
    const moved = onTheWay(t, t.visitor);
    expect((await moved.open('/account')).path).toMatch(/^\/login/);
    expect(textOf(await moved.open('/login'))).not.toContain(EMAIL);
  });

  async function start() {
    const t = await startServer();
    const known = createDeviceCookies({
      options: {
        issuer: ISSUER,
        masterKey: MASTER_KEY,
        previousMasterKeys: [] as readonly Uint8Array[],
      } as ServerOptions,
      clock: () => t.clock.now,
    });
    const account = await t.store.findAccount(ACCOUNT);
    if (account === null) throw new Error('there is no account');
    return { t, known, account };
  }

  const requestWith = (cookie: string) => new Request(ISSUER, { headers: { cookie } });

  it('a device cookie holds the last four users of a shared browser', async () => {
    const { known, account } = await start();
    const users = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ ...account, id }));
    let cookie = '';
    for (const user of users) cookie = known.issue(requestWith(cookie), user).split(';')[0] ?? '';
    const names = users.map((user) => known.findDevice(requestWith(cookie), user));
    expect(names).toEqual([null, ...Array.from({ length: 4 }, () => expect.stringMatching(/^[\w-]{16}$/))]);
    expect(new Set(names).size).toBe(5);
    expect(known.findDevice(requestWith(cookie), null)).toBeNull();
  });

  it('T075: a device cookie is valid for 180 days, however often another user logs in with the same browser', async () => {
    const { t, known, account } = await start();
    const first = known.issue(requestWith(''), account).split(';')[0] ?? '';
    t.clock.now += LIFETIME - 1;
    const cookie = known.issue(requestWith(first), { ...account, id: 'bob' }).split(';')[0] ?? '';
    expect(known.findDevice(requestWith(cookie), account)).toMatch(/^[\w-]{16}$/);
    t.clock.now += 1;
    expect(known.findDevice(requestWith(cookie), account)).toBeNull();
  });
});

describe('an account under a brute-force attack', () => {
  it('T075: the owner logs in with a device cookie from any network, after a restart, and with the next master key', async () => {
    const t = await setScene();
    await attempt(t.visitor, PASSWORD);
    await besiege(t);
    const before = t.snapshot();
    const unknown = await attempt(t.newVisitor(ON_THE_WAY), PASSWORD);
    expect([unknown.status, unknown.headers.get('retry-after')]).toEqual([429, '15']);
    expect(unknown.headers.getSetCookie()).toEqual([]);
    expect(t.snapshot()).toBe(before);

    const moved = onTheWay(t, t.visitor);
    expect((await attempt(moved, PASSWORD)).path).toBe('/account');
    const server = await restart(t, OTHER_KEY, [MASTER_KEY]);
    await besiege({ server });
    expect((await attempt(createVisitor(server, ON_THE_WAY), PASSWORD)).status).toBe(429);
    expect((await attempt(onTheWay(t, t.visitor, server), PASSWORD)).path).toBe('/account');
    await server.close();
  });

  it('T075: rejects a device cookie that is forged or of another account', async () => {
    const t = await setScene();
    await attempt(t.visitor, PASSWORD);
    const own = t.visitor.cookies.get(COOKIE) ?? '';
    const added = await t.server.accounts.add('bob@example.org');
    const link = new URL('link' in added ? added.link : '');
    const bob = t.newVisitor('203.0.113.5');
    const invitation = await bob.open(`${link.pathname}${link.search}`);
    await bob.submit(invitation, { password: PASSWORD, password_again: PASSWORD }, '/invitation');
    const foreign = bob.cookies.get(COOKIE) ?? '';
    expect([foreign.length, bob.cookies.has(SESSION)]).toEqual([43, true]);
    await besiege(t);

    const forged = `${own[0] === 'A' ? 'B' : 'A'}${own.slice(1)}`;
    for (const value of [forged, foreign, 'x', `${own}x`, 'A'.repeat(43), `${foreign}.${forged}`]) {
      const visitor = createVisitor(t.server, ON_THE_WAY);
      visitor.cookies.set(COOKIE, value);
      expect([value, (await attempt(visitor, PASSWORD)).status]).toEqual([value, 429]);
    }
    const shared = createVisitor(t.server, ON_THE_WAY);
    shared.cookies.set(COOKIE, `${foreign}.${own}`);
    expect((await attempt(shared, PASSWORD)).path).toBe('/account');
  });

  it('T075: after a password change only the device cookie of that browser is valid, until others log in again', async () => {
    const t = await setScene();
    const elsewhere = t.newVisitor();
    await attempt(elsewhere, PASSWORD);
    await attempt(t.visitor, PASSWORD);
    const next = 'a bridge of rope and planks';
    const page = await t.visitor.open('/account/password');
    const fields = { current: PASSWORD, password: next, password_again: next };
    expect((await t.visitor.submit(page, fields)).path).toMatch(/password-changed/);
    await besiege(t);
    expect((await attempt(onTheWay(t, elsewhere), next)).status).toBe(429);
    expect((await attempt(onTheWay(t, t.visitor), next)).path).toBe('/account');
  });

  it('T075: a stolen device cookie allows five guesses over all processes, and then no more than without it', async () => {
    const t = await setScene();
    const elsewhere = t.newVisitor('203.0.113.9');
    await attempt(elsewhere, PASSWORD);
    await attempt(t.visitor, PASSWORD);
    const servers = [t.server, await restart(t)] as const;
    for (const server of servers) await besiege({ server });
    const before = t.snapshot();
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) {
      const thief = onTheWay(t, t.visitor, servers[n % 2]);
      statuses.push((await attempt(thief, n < 10 ? `guess ${n}` : PASSWORD)).status);
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429, 429, 429, 429, 429, 429]);
    expect(t.snapshot()).toBe(before);
    for (const server of servers) {
      expect((await attempt(onTheWay(t, elsewhere, server), PASSWORD)).path).toBe('/account');
    }
    await servers[1].close();
  });

  it('T075: a hundred concurrent guesses with a stolen device cookie count as five', async () => {
    const t = await setScene();
    const throttle = createLoginThrottle(
      { store: t.store, options: { rateLimits: defaultRateLimits }, clock: () => t.clock.now },
      'password',
    );
    const guess = (address: string, device: string | null = null) =>
      throttle({ account: 'ada', connection: { address }, device }, async (isKnown) => isKnown && 'known');
    for (let n = 0; n < 30; n++)
      await throttle({ account: 'ada', connection: { address: `192.0.2.${n}` } }, async () => false);
    const thief = () =>
      throttle({ account: 'ada', connection: { address: ON_THE_WAY }, device: 'stolen' }, async () => false);
    const attempts = await Promise.all(Array.from({ length: 100 }, thief));
    expect(attempts.filter(({ kind }) => kind === 'verified')).toHaveLength(5);
    expect(await guess(ON_THE_WAY, 'hers')).toEqual({ kind: 'verified', result: 'known' });
  });

  it('the owner may mistype five times with a device cookie, and then as often as without', async () => {
    const t = await setScene();
    await attempt(t.visitor, PASSWORD);
    const moved = onTheWay(t, t.visitor);
    for (let n = 0; n < 5; n++) expect((await attempt(moved, `typo ${n}`)).status).toBe(400);
    const held = await attempt(moved, PASSWORD);
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '15']);
    t.clock.now += 15;
    expect((await attempt(moved, PASSWORD)).path).toBe('/account');
    for (let n = 0; n < 5; n++) expect((await attempt(moved, `typo ${n}`)).status).toBe(400);
  });

  it('T017: a login without its second factor sets no device cookie', async () => {
    const t = await setScene();
    const factor = { accountId: ACCOUNT, encryptedSecret: 'x', lastStep: 0, createdAt: t.clock.now };
    await inSession(t.store, ACCOUNT, (session) => t.store.saveTotpFactor(factor, [], session));
    const half = await attempt(t.newVisitor(), PASSWORD);
    expect([textOf(half).includes('Enter your code'), half.headers.getSetCookie()]).toEqual([true, []]);
  });
});
