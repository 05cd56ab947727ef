/** Account administration: invitations, resets, disabling and removal, and what users see of them. */
import { describe, expect, it } from 'vitest';
import type { AccountLink } from '../src/index.ts';
import { ACCOUNT, claimsOf, ISSUER, redemption, refreshing } from './server-under-test.ts';
import {
  createVisitor,
  duringPasswordCheck,
  EMAIL,
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

const BOB = 'Bob@Example.org';
const NEW_PASSWORD = 'a bridge of rope and planks';
const chosen = { password: NEW_PASSWORD, password_again: NEW_PASSWORD };

/** Path and query of an account link. */
function pathOf(answer: AccountLink | { readonly refused: string }): string {
  if ('refused' in answer) throw new Error(`There is no link: ${answer.refused}`);
  expect(answer.link.startsWith(`${ISSUER}/`)).toBe(true);
  return answer.link.slice(ISSUER.length);
}

async function signIn(visitor: Visitor, email: string, password: string): Promise<Sight> {
  return visitor.submit(await visitor.open('/login'), { email, password });
}

function liveClaimsOf(body: Readonly<Record<string, unknown>>) {
  return claimsOf(body['access_token']) as unknown as Parameters<Scene['server']['isLive']>[0];
}

/** Runs between the consent decision and the authorization code, as another process would. */
function beforeCode(t: Scene, act: () => Promise<unknown>): void {
  const { issueCode, completeTransaction } = t.store;
  const first = async () => {
    Object.assign(t.store, { issueCode, completeTransaction });
    await act();
  };
  t.store.issueCode = async (...given) => {
    await first();
    await issueCode(...given);
  };
  t.store.completeTransaction = async (...given) => {
    await first();
    return completeTransaction(...given);
  };
}

/** Ada with a session and an open consent page, a grant with tokens, and a code. */
async function setHoldings() {
  const t = await setScene();
  const { body } = await t.signIn();
  const { code, verifier } = await t.issueCode();
  const consent = await t.visitor.signIn(requestOf());
  const claims = liveClaimsOf(body);
  expect(await t.server.isLive(claims)).toBe(true);
  const expectAllEnded = async () => {
    expect(await t.server.isLive(claims)).toBe(false);
    expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(400);
    expect((await t.post('/token', redemption(code, verifier))).status).toBe(400);
    const answer = await t.visitor.submit(consent, { decision: 'allow' });
    expect([answer.left, answer.status]).toEqual([null, 403]);
    expect((await t.visitor.open('/connections')).path).toBe('/login?to=connections');
  };
  return { t, claims, expectAllEnded };
}

async function expectUnchanged(t: Scene, status: number, act: () => Promise<Sight>): Promise<Sight> {
  const before = t.snapshot();
  const sight = await act();
  expect(sight.status).toBe(status);
  expect(t.snapshot()).toBe(before);
  return sight;
}

describe('an invitation', () => {
  it('an invitation lets its holder choose a password once, and logs in', async () => {
    const t = await setScene();
    const path = pathOf(await t.server.accounts.add(BOB));
    expect(path).toMatch(/^\/invitation\?token=[\w-]{43}$/);
    expect(t.snapshot()).not.toContain(path.split('=')[1]);
    const page = await t.visitor.open(path);
    expect([page.status, page.html.includes('value="Bob@Example.org" readonly')]).toEqual([200, true]);
    const ready = await t.visitor.submit(page, chosen);
    expect([ready.path, textOf(ready)]).toEqual(['/setup', expect.stringContaining('Your account is ready')]);
    expect((await t.visitor.open('/connections')).path).toBe('/connections');

    const again = await expectUnchanged(t, 403, () => t.newVisitor().open(path));
    expect(textOf(again)).toContain('This link no longer works');
    await expectUnchanged(t, 403, () =>
      createVisitor(t.server).submit(page, { ...chosen, password: 'another good one' }),
    );
    expect((await signIn(t.newVisitor(), BOB, NEW_PASSWORD)).path).toBe('/connections');
  });

  it('an invited account has no other credential until the link is used', async () => {
    const t = await setScene();
    await t.server.accounts.add(BOB);
    for (const password of ['', 'portcullis', NEW_PASSWORD]) {
      expect((await signIn(t.newVisitor(), BOB, password)).status).toBe(400);
    }
  });

  it.each([
    ['short', { password: 'short', password_again: 'short' }, 'must have at least 10 characters'],
    [
      'its address',
      { password: 'bob@example.org', password_again: 'bob@example.org' },
      'must not be your email address',
    ],
    [
      'typed wrongly',
      { password: NEW_PASSWORD, password_again: `${NEW_PASSWORD}x` },
      'The two passwords do not match.',
    ],
    ['missing', {}, 'must have at least 10 characters'],
  ])('an invitation rejects a password that is %s, and stays valid', async (_what, fields, words) => {
    const t = await setScene();
    const page = await t.visitor.open(pathOf(await t.server.accounts.add(BOB)));
    const sight = await expectUnchanged(t, 400, () => t.visitor.submit(page, fields));
    expect(textOf(sight)).toContain(words);
    expect((await t.visitor.submit(sight, chosen)).path).toBe('/setup');
  });

  it('an invitation works for a week, on its own page, and only from this site', async () => {
    const t = await setScene();
    const path = pathOf(await t.server.accounts.add(BOB));
    const page = await t.visitor.open(path);
    for (const other of [
      path.replace('/invitation', '/reset'),
      path.replace('/invitation', '/setup'),
      '/invitation',
      '/invitation?token=',
      `${path}x`,
    ]) {
      await expectUnchanged(t, 403, () => t.visitor.open(other));
    }
    await expectUnchanged(t, 403, () => t.visitor.submit(page, chosen, '/reset'));
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    await expectUnchanged(t, 403, () => t.visitor.submit(page, chosen));
    t.visitor.headers = {};
    t.clock.now += 7 * 86_400 - 1;
    expect((await t.visitor.open(path)).status).toBe(200);
    t.clock.now += 1;
    await expectUnchanged(t, 403, () => t.visitor.open(path));
    await expectUnchanged(t, 403, () => t.visitor.submit(page, chosen));
  });

  it('an invitation is refused for an invalid or already used email address', async () => {
    const t = await setScene();
    const before = t.snapshot();
    expect(await t.server.accounts.add('unknown')).toEqual({ refused: 'no-address' });
    expect(await t.server.accounts.add(` ${EMAIL.toUpperCase()}`)).toEqual({ refused: 'exists' });
    expect(t.snapshot()).toBe(before);
  });
});

describe('a reset', () => {
  it('a reset replaces the password and ends all sessions', async () => {
    const t = await setScene();
    const other = t.newVisitor();
    await signIn(other, EMAIL, PASSWORD);
    const path = pathOf(await t.server.accounts.reset(EMAIL));
    expect((await other.open('/account')).path).toBe('/account');
    const page = await t.visitor.open(path);
    expect(textOf(page)).toContain('You will be signed out everywhere else');
    const after = await t.visitor.submit(page, chosen);
    expect([after.path, textOf(after)]).toEqual([
      '/account?news=reset',
      expect.stringContaining('You are signed out everywhere else.'),
    ]);
    expect((await other.open('/account')).path).toBe('/login?to=account');
    expect((await signIn(other, EMAIL, PASSWORD)).status).toBe(400);
    expect((await signIn(other, EMAIL, NEW_PASSWORD)).path).toBe('/connections');
    await expectUnchanged(t, 403, () => t.visitor.open(path));
  });

  it('a reset replaces earlier resets, works for a day, and only for an enabled account', async () => {
    const t = await setScene();
    const first = pathOf(await t.server.accounts.reset(EMAIL));
    const second = pathOf(await t.server.accounts.reset(EMAIL));
    await expectUnchanged(t, 403, () => t.visitor.open(first));
    t.clock.now += 86_400 - 1;
    const page = await t.visitor.open(second);
    expect(page.status).toBe(200);
    t.clock.now += 1;
    await expectUnchanged(t, 403, () => t.visitor.submit(page, chosen));
    const third = pathOf(await t.server.accounts.reset(EMAIL));
    await t.server.accounts.disable(EMAIL);
    await expectUnchanged(t, 403, () => t.visitor.open(third));
    expect(await t.server.accounts.reset(EMAIL)).toEqual({ refused: 'disabled' });
    expect(await t.server.accounts.reset('unknown@example.org')).toEqual({ refused: 'unknown' });
  });

  it('a reset leaves no session to a sign-in whose password is being checked meanwhile', async () => {
    const t = await setScene();
    const page = await t.visitor.open(pathOf(await t.server.accounts.reset(EMAIL)));
    const thief = t.newVisitor();
    const login = await thief.open('/login?to=account');
    const end = await duringPasswordCheck(t, () => t.visitor.submit(page, chosen));
    const sight = await thief.submit(login, { email: EMAIL, password: PASSWORD });
    end();
    expect([sight.status, sight.headers.getSetCookie()]).toEqual([403, []]);
    expect(textOf(sight)).toContain('Sign in again');
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toHaveLength(1);
    expect((await t.visitor.open('/account')).path).toBe('/account');
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'login.failed', accountId: ACCOUNT }));
    expect(t.events.filter(({ type }) => type === 'login.succeeded')).toEqual([]);
    expect((await signIn(thief, EMAIL, NEW_PASSWORD)).path).toBe('/connections');
  });

  it('concurrent uses of a reset link set one password', async () => {
    const t = await setScene();
    const path = pathOf(await t.server.accounts.reset(EMAIL));
    const outcomes = await Promise.all(
      ['the first password', 'the second password', 'the third password'].map(async (password) => {
        const visitor = createVisitor(t.server);
        return visitor.submit(await visitor.open(path), { password, password_again: password });
      }),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
  });
});

describe('a disabled account', () => {
  it('T095: disabling an account revokes sessions, grants, tokens and codes at once, and its login fails like an unknown one', async () => {
    const { t, claims, expectAllEnded } = await setHoldings();
    await signIn(t.newVisitor(), EMAIL, PASSWORD);

    expect(await t.server.accounts.disable(EMAIL)).toBe(true);
    await expectAllEnded();
    const refused = await signIn(t.newVisitor('203.0.113.77'), EMAIL, PASSWORD);
    expect(textOf(refused)).toContain('Incorrect email or password.');
    expect(t.events.map(({ type }) => type)).toContain('account.disabled');

    expect(await t.server.accounts.enable(EMAIL)).toBe(true);
    expect(await t.server.isLive(claims)).toBe(false);
    expect((await signIn(t.newVisitor('203.0.113.78'), EMAIL, PASSWORD)).path).toBe('/connections');
    expect((await t.signIn()).status).toBe(200);
  });

  it('a sign-in whose password is checked while its account is disabled has no session after it is enabled', async () => {
    const t = await setScene();
    const login = await t.visitor.open('/login?to=account');
    const end = await duringPasswordCheck(t, () => t.server.accounts.disable(ACCOUNT));
    const sight = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    end();
    expect([sight.status, sight.headers.getSetCookie()]).toEqual([403, []]);
    await t.server.accounts.enable(EMAIL);
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toEqual([]);
    expect((await signIn(t.visitor, EMAIL, PASSWORD)).path).toBe('/connections');
  });

  it('a code issued while its account is being disabled cannot be redeemed', async () => {
    const t = await setScene();
    beforeCode(t, () => t.store.disableAccount(ACCOUNT, t.clock.now));
    const { code, verifier } = await t.issueCode();
    const { status, body } = await t.post('/token', redemption(code, verifier));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    await t.server.accounts.enable(EMAIL);
    expect((await t.post('/token', redemption(code, verifier))).status).toBe(400);
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 100)).toEqual([]);
    expect((await t.signIn()).status).toBe(200);
  });

  it('a code issued while its account is being disabled cannot be redeemed after it is enabled', async () => {
    const t = await setScene();
    beforeCode(t, () => t.store.disableAccount(ACCOUNT, t.clock.now));
    const { code, verifier } = await t.issueCode();
    await t.server.accounts.enable(EMAIL);
    const { status, body } = await t.post('/token', redemption(code, verifier));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 100)).toEqual([]);
    expect((await t.signIn()).status).toBe(200);
  });

  it('tokens are revoked if the account is disabled while a code is being redeemed', async () => {
    const t = await setScene();
    const { code, verifier } = await t.issueCode();
    const { redeemCode } = t.store;
    // Another process disables it when the grant is there, and before the client has its tokens.
    t.store.redeemCode = async (...given) => {
      const outcome = await redeemCode(...given);
      await t.store.disableAccount(ACCOUNT, t.clock.now);
      return outcome;
    };
    const { body } = await t.post('/token', redemption(code, verifier));
    expect(await t.server.isLive(liveClaimsOf(body))).toBe(false);
    expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(400);
    t.store.redeemCode = redeemCode;
    await t.server.accounts.enable(EMAIL);
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 100)).toEqual([]);
    expect((await t.signIn()).status).toBe(200);
  });

  it('disabling an unknown account reports that there is none', async () => {
    const t = await setScene();
    for (const email of ['unknown@example.org', 'unknown', '']) {
      expect([await t.server.accounts.disable(email), await t.server.accounts.enable(email)]).toEqual([
        false,
        false,
      ]);
    }
  });
});

describe('a removed account', () => {
  it('removing an account revokes everything at once, and its email address can be invited again', async () => {
    const { t, expectAllEnded } = await setHoldings();
    const late = t.newVisitor();
    const login = await late.open('/login');

    expect(await t.server.accounts.remove(EMAIL)).toBe(true);
    await expectAllEnded();
    expect((await late.submit(login, { email: EMAIL, password: PASSWORD })).status).toBe(400);
    expect(await t.server.accounts.list()).toEqual([]);
    const removed = t.events.filter(({ type }) => type === 'account.removed');
    expect(removed).toEqual([expect.objectContaining({ accountId: ACCOUNT })]);
    expect(JSON.stringify(t.events)).not.toContain(EMAIL);

    const path = pathOf(await t.server.accounts.add(EMAIL));
    await t.newVisitor().submit(await t.newVisitor().open(path), chosen);
    expect((await signIn(t.newVisitor(), EMAIL, NEW_PASSWORD)).path).toBe('/connections');
  });

  it('a code issued while its account is being removed cannot be redeemed', async () => {
    const t = await setScene();
    beforeCode(t, () => t.store.removeAccount(ACCOUNT, t.clock.now));
    const { code, verifier } = await t.issueCode();
    const { status, body } = await t.post('/token', redemption(code, verifier));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 100)).toEqual([]);
  });

  it('removing an unknown account reports that there is none', async () => {
    const t = await setScene();
    const before = t.snapshot();
    for (const email of ['unknown@example.org', 'unknown', '', 'user_unknown'])
      expect(await t.server.accounts.remove(email)).toBe(false);
    expect(t.snapshot()).toBe(before);
  });
});

describe('the list of accounts', () => {
  it('accounts are listed page by page with their state, without password hashes', async () => {
    const t = await setScene();
    await t.server.accounts.add(BOB);
    await t.server.accounts.disable(BOB);
    const list = await t.server.accounts.list();
    const now = t.clock.now;
    const [ada, bob] = [EMAIL, BOB].map((email) => ({
      email,
      emailKey: email.toLowerCase(),
      createdAt: now,
    }));
    expect(list).toEqual([
      { ...ada, id: ACCOUNT, disabledAt: null, role: null },
      { ...bob, id: expect.stringMatching(/^user_/), disabledAt: now, role: null },
    ]);
    expect(await t.server.accounts.list(list[0]?.emailKey, 1)).toEqual([list[1]]);
    expect(await t.server.accounts.list(list[1]?.emailKey)).toEqual([]);
  });

  it('the list of accounts continues after an address whose letters compose in lower case only', async () => {
    const t = await setScene();
    const emails = ['H\u0331@example.com', 'kim@example.com', 'zed@example.com'];
    for (const email of emails) await t.server.accounts.add(email);
    const listed: string[] = [];
    for (let page = await t.server.accounts.list('', 1); page.length > 0; ) {
      listed.push(...page.map(({ email }) => email));
      page = await t.server.accounts.list(page.at(-1)?.emailKey, 1);
    }
    expect(listed).toEqual([EMAIL, ...emails]);
  });

  it('the list of accounts continues after a user of an identity provider, who has no email address', async () => {
    const t = await setScene();
    const linkedAccount = { id: 'user_zoe', email: 'zoe (GitHub)', emailKey: 'third-party:zoe' };
    const record = {
      ...linkedAccount,
      passwordHash: '$argon2id$none',
      createdAt: t.clock.now,
      disabledAt: null,
      role: null,
    };
    await t.store.linkIdentity({ issuer: 'https://github.com', subject: '7', accountId: record.id }, record);
    const first = await t.server.accounts.list('', 2);
    expect(first.map(({ email }) => email)).toEqual([EMAIL, linkedAccount.email]);
    expect(await t.server.accounts.list(first[1]?.emailKey)).toEqual([]);
    expect(await t.server.accounts.disable(linkedAccount.id)).toBe(true);
    expect(await t.server.accounts.enable(linkedAccount.id)).toBe(true);
    // A link by which one chooses a password here would be a second way in.
    expect(await t.server.accounts.reset(linkedAccount.id)).toEqual({ refused: 'unknown' });
  });
});
