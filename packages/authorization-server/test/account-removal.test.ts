/** Deleting an account: requires a recent login and a confirmation, and removes all its data. */
import { describe, expect, it } from 'vitest';
import { ACCOUNT, claimsOf, refreshing } from './server-under-test.ts';
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

async function signIn(visitor: Visitor, address = '/login?to=account'): Promise<Sight> {
  return visitor.submit(await visitor.open(address), { email: EMAIL, password: PASSWORD });
}

async function expectUnchanged(t: Scene, act: () => Promise<Sight>): Promise<Sight> {
  const before = t.snapshot();
  const sight = await act();
  expect(t.snapshot()).toBe(before);
  return sight;
}

describe('an account that its owner deletes', () => {
  it('deleting an account removes its sessions, credentials and grants', async () => {
    const t = await setScene();
    const { body } = await t.signIn();
    const claims = claimsOf(body['access_token']) as unknown as Parameters<Scene['server']['isLive']>[0];
    const elsewhere = t.newVisitor();
    await signIn(elsewhere);
    await signIn(t.visitor);
    const account = await t.visitor.open('/account');
    expect(account.html).toContain('href="/account/remove"');
    const asked = await t.visitor.open('/account/remove');
    expect(textOf(asked)).toMatch(/Delete your account\?.*These apps lose their access/s);

    const late = t.newVisitor();
    const login = await late.open('/login?to=account');
    const done = await t.visitor.submit(asked, { password: PASSWORD });
    expect([done.status, textOf(done)]).toEqual([200, expect.stringContaining('Your account is deleted')]);
    expect(await t.server.isLive(claims)).toBe(false);
    expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(400);
    for (const visitor of [t.visitor, elsewhere])
      expect((await visitor.open('/account')).path).toBe('/login?to=account');
    expect((await late.submit(login, { email: EMAIL, password: PASSWORD }, '/login')).status).toBe(400);
    expect(await t.server.accounts.list()).toEqual([]);
    expect(t.events).toContainEqual({ type: 'account.removed', accountId: ACCOUNT, network: '192.0.2.1' });
  });

  it.each([
    ['900 seconds', 900],
    ['a login while the clock was ahead', -61],
  ])('an account cannot be deleted in a session without a recent login: after %s', async (_what, later) => {
    const t = await setScene();
    await signIn(t.visitor);
    const asked = await t.visitor.open('/account/remove');
    expect(asked.path).toBe('/account/remove');
    t.clock.now += later;
    for (const act of [
      () => t.visitor.open('/account/remove'),
      () => t.visitor.submit(asked, { password: PASSWORD }),
    ])
      expect((await expectUnchanged(t, act)).path).toBe('/login?to=account&again=yes');
    await signIn(t.visitor, '/login?to=account&again=yes');
    const again = await t.visitor.open('/account/remove');
    expect((await t.visitor.submit(again, { password: PASSWORD })).status).toBe(200);
    expect(await t.server.accounts.list()).toEqual([]);
  });

  it('T067: an account is not deleted by a forged form or by a GET', async () => {
    const t = await setScene();
    await signIn(t.visitor);
    const asked = await expectUnchanged(t, () => t.visitor.open('/account/remove'));
    const [mallory, signedOut] = [t.newVisitor(), createVisitor(t.server)];
    const theirs = await signIn(mallory).then(() => mallory.open('/account/remove'));
    const refused = await expectUnchanged(t, () =>
      t.visitor.submit(theirs, { password: PASSWORD }, '/account/remove'),
    );
    expect(refused.status).toBe(403);
    expect((await expectUnchanged(t, () => signedOut.submit(asked, { password: PASSWORD }))).path).toMatch(
      /^\/login/,
    );
    expect((await t.visitor.submit(asked, { password: PASSWORD })).status).toBe(200);
    expect(await t.server.accounts.list()).toEqual([]);
  });
});
