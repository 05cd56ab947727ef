/** Changing a password: requires the current one, throttled like a login. */
import { describe, expect, it } from 'vitest';
import { inSession } from '../../store/testing/samples.ts';
import { ACCOUNT } from './server-under-test.ts';
import {
  duringPasswordCheck,
  EMAIL,
  PASSWORD,
  type Scene,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

const NEW = 'a bridge of rope and planks';
const chosen = { password: NEW, password_again: NEW };

async function open(visitor: Visitor, password = PASSWORD): Promise<Sight> {
  await visitor.submit(await visitor.open('/login?to=account'), { email: EMAIL, password });
  return visitor.open('/account/password');
}

const change = (visitor: Visitor, page: Sight, fields: Record<string, string | undefined> = {}) =>
  visitor.submit(page, { current: PASSWORD, ...chosen, ...fields });

/** The path of a reset link that an administrator makes. */
async function resetPathOf(t: Scene): Promise<string> {
  const made = await t.server.accounts.reset(EMAIL);
  const { pathname, search } = new URL('link' in made ? made.link : '');
  return pathname + search;
}

async function canSignIn(t: Scene, password: string): Promise<boolean> {
  const visitor = t.newVisitor('203.0.113.77');
  const sight = await visitor.submit(await visitor.open('/login'), { email: EMAIL, password });
  return sight.path === '/connections';
}

describe('a new password', () => {
  it('a new password replaces the current one and ends all other sessions', async () => {
    const t = await setScene();
    const elsewhere = t.newVisitor();
    await open(elsewhere);
    const page = await open(t.visitor);
    expect(page.html).toContain('name="others" value="end" checked');
    const done = await change(t.visitor, page);
    expect([done.path, textOf(done)]).toEqual([
      '/account?news=password-changed',
      expect.stringContaining('The password was changed.'),
    ]);
    expect((await elsewhere.open('/account')).path).toMatch(/^\/login/);
    expect([await canSignIn(t, PASSWORD), await canSignIn(t, NEW)]).toEqual([false, true]);
    expect(t.events).toContainEqual({ type: 'password.changed', accountId: ACCOUNT, network: '192.0.2.1' });
  });

  it('the password page mentions accounts without a password only to users with a passkey', async () => {
    const t = await setScene();
    expect(textOf(await open(t.visitor))).not.toContain('because you use a passkey');
    await inSession(t.store, ACCOUNT, (session) =>
      t.store.addPasskey(
        {
          id: 'credential',
          accountId: ACCOUNT,
          publicKey: 'key',
          counter: 0,
          transports: [],
          name: 'Laptop',
          createdAt: t.clock.now,
          lastUsedAt: null,
        },
        session,
      ),
    );
    expect(textOf(await t.visitor.open('/account/password'))).toContain('because you use a passkey');
  });

  it('a new password keeps other sessions if the user turns that option off', async () => {
    const t = await setScene();
    const elsewhere = t.newVisitor();
    await open(elsewhere);
    await change(t.visitor, await open(t.visitor), { others: undefined });
    expect((await elsewhere.open('/account')).path).toBe('/account');
    expect(await canSignIn(t, NEW)).toBe(true);
  });

  it('a new password leaves a reset link alone, so that who knows the password cannot prevent a reset', async () => {
    const t = await setScene();
    const path = await resetPathOf(t);
    await change(t.visitor, await open(t.visitor), { password: PASSWORD, password_again: PASSWORD });
    const owner = t.newVisitor();
    expect((await owner.submit(await owner.open(path), chosen)).path).toBe('/account?news=reset');
    expect([await canSignIn(t, PASSWORD), await canSignIn(t, NEW)]).toEqual([false, true]);
  });

  it('a new password is rejected if the current one was reset while it was checked, and the sessions of the reset remain', async () => {
    const t = await setScene();
    const page = await open(t.visitor);
    const owner = t.newVisitor();
    const reset = await owner.open(await resetPathOf(t));
    const end = await duringPasswordCheck(t, () => owner.submit(reset, chosen));
    const theirs = 'the password of a thief';
    const sight = await change(t.visitor, page, { password: theirs, password_again: theirs });
    end();
    expect([sight.status, textOf(sight)]).toEqual([
      400,
      expect.stringContaining('This is not your current password'),
    ]);
    expect((await owner.open('/account')).path).toBe('/account');
    expect([await canSignIn(t, PASSWORD), await canSignIn(t, theirs), await canSignIn(t, NEW)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(t.events.map(({ type }) => type)).not.toContain('password.changed');
  });

  it('a new password is rejected if the account was disabled while the current one was checked', async () => {
    const t = await setScene();
    const page = await open(t.visitor);
    const end = await duringPasswordCheck(t, () => t.server.accounts.disable(ACCOUNT));
    expect((await change(t.visitor, page)).status).toBe(400);
    end();
    await t.server.accounts.enable(EMAIL);
    expect([await canSignIn(t, PASSWORD), await canSignIn(t, NEW)]).toEqual([true, false]);
  });

  it.each<[string, Record<string, string | undefined>, number, RegExp]>([
    ['a wrong current password', { current: 'not this one' }, 400, /This is not your current password/],
    ['no current password', { current: undefined }, 400, /This is not your current password/],
    ['a short one', { password: 'short', password_again: 'short' }, 400, /at least 10 characters/],
    ['the address', { password: EMAIL, password_again: EMAIL }, 400, /must not be your email/],
    ['a guess', { password: 'password123', password_again: 'password123' }, 400, /too easy to guess/],
    ['two that differ', { password_again: `${NEW}.` }, 400, /do not match/],
    ['a forged form', { token: 'x' }, 403, /Nothing was changed/],
  ])('a new password is rejected for %s', async (_what, fields, status, sentence) => {
    const t = await setScene();
    const page = await open(t.visitor);
    const before = t.snapshot();
    const sight = await change(t.visitor, page, fields);
    expect([sight.status, textOf(sight)]).toEqual([status, expect.stringMatching(sentence)]);
    expect(t.snapshot()).toBe(before);
    expect((await change(t.visitor, page)).path).toBe('/account?news=password-changed');
  });

  it('T075: guessing the current password in a stolen session is throttled', async () => {
    const t = await setScene();
    const page = await open(t.visitor);
    for (let n = 0; n < 5; n++) {
      expect((await change(t.visitor, page, { current: `guess number ${n}` })).status).toBe(400);
    }
    const before = t.snapshot();
    const sight = await change(t.visitor, page);
    expect([sight.status, sight.headers.get('retry-after'), textOf(sight)]).toEqual([
      429,
      '15',
      expect.stringContaining('Too many attempts. Try again in 15 seconds.'),
    ]);
    expect(t.snapshot()).toBe(before);
    t.clock.now += 15;
    expect((await change(t.visitor, page)).status).toBe(200);
  });

  it('T067: another site cannot change a password', async () => {
    const t = await setScene();
    const page = await open(t.visitor);
    const before = t.snapshot();
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await change(t.visitor, page)).status).toBe(403);
    expect(t.snapshot()).toBe(before);
    t.visitor.headers = { 'sec-fetch-site': 'same-origin' };
    expect((await change(t.visitor, page)).status).toBe(200);
  });
});
