/** Pages behind mails: a forgotten password, without telling whether an account exists, and "this was not me". */
import { describe, expect, it } from 'vitest';
import { inSession } from '../../store/testing/samples.ts';
import type { AuthorizationEvent } from '../src/index.ts';
import type { AuditEventRecord } from '../src/store/index.ts';
import { codeOf, secretOn } from './code-app.ts';
import { ACCOUNT } from './server-under-test.ts';
import {
  decide,
  EMAIL,
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

const FORGOTTEN = '/login/forgotten?to=connections';

const setMailScene = () => setScene({ sendsMail: true });

/** Adds an account that is disabled, and one of an identity provider. */
async function addOthers({ store, server }: Scene): Promise<void> {
  await server.accounts.add('off@example.org');
  await server.accounts.disable('off@example.org');
  const account = {
    id: 'user_federated',
    email: 'fed@example.org (Example)',
    emailKey: 'federated:x',
    passwordHash: '$argon2id$not-used-here',
    ...{ createdAt: 0, disabledAt: null, role: null },
  };
  await store.linkIdentity({ issuer: 'https://idp.example', subject: 'x', accountId: account.id }, account);
  await store.saveProfile(account.id, { email: 'fed@example.org', name: null, groups: [] });
}

async function askFor(visitor: Visitor, email: string): Promise<Sight> {
  return visitor.submit(await visitor.open(FORGOTTEN), { email });
}

const CHOSEN = {
  password: 'a bridge of rope and planks',
  password_again: 'a bridge of rope and planks',
};

/** The path of an account link as it is mailed. */
async function accountLinkPathOf({ server }: Scene, purpose: 'invitation' | 'reset'): Promise<string> {
  const { pathname, search } = new URL(
    (await server.mailedLinks?.createAccountLink(ACCOUNT, purpose))?.link ?? '',
  );
  return pathname + search;
}

const ofMail = ({ events }: Scene) =>
  events.filter(({ type }) => ['account.reset_requested', 'account.link_refused'].includes(type));

/** An audit event as it is stored. */
function recordOf(
  { type, accountId, grantId, ...details }: AuthorizationEvent,
  at: number,
): AuditEventRecord {
  const none = { clientId: null, resource: null, transactionId: null };
  const ids = { accountId: accountId ?? null, grantId: grantId ?? null };
  return { ...none, ...ids, id: 'event', at: at * 1000, type, details, expiresAt: at + 60 };
}

/** The path of the link that the last event of a type leads to. */
function noticePathOf({ server, events, clock }: Scene, type: AuthorizationEvent['type']): string {
  const event = events.findLast((one) => one.type === type);
  const notice = event && server.mailedLinks?.createNotice(recordOf(event, clock.now));
  if (notice == null) throw new Error(`there is no notice of ${type}`);
  const { pathname, search } = new URL(notice.link);
  return pathname + search;
}

describe('a forgotten password', () => {
  it('requests a mail for an account, in the language of the page', async () => {
    const t = await setMailScene();
    t.visitor.headers = { 'accept-language': 'de' };
    const sight = await askFor(t.visitor, ` ${EMAIL.toUpperCase()}`);
    expect([sight.status, textOf(sight)]).toEqual([
      200,
      expect.stringContaining('Sehen Sie in Ihrem Postfach nach'),
    ]);
    expect(ofMail(t)).toMatchObject([
      { type: 'account.reset_requested', accountId: ACCOUNT, language: 'de' },
    ]);
    const link = await t.server.mailedLinks?.createAccountLink(ACCOUNT, 'reset');
    expect(textOf(await t.visitor.open(new URL(link?.link ?? '').href))).toContain('Neu');
  });

  it('responds to an unknown, disabled or federated address as to an account, and sends nothing', async () => {
    const t = await setMailScene();
    await addOthers(t);
    const known = await askFor(t.newVisitor('198.51.100.1'), EMAIL);
    expect(ofMail(t)).toHaveLength(1);
    const before = t.snapshot();
    for (const [index, email] of ['no@example.org', 'off@example.org', 'fed@example.org'].entries()) {
      const sight = await askFor(t.newVisitor(`198.51.100.${index + 2}`), email);
      expect([sight.status, sight.html, [...sight.headers]]).toEqual([
        known.status,
        known.html,
        [...known.headers],
      ]);
    }
    expect(t.snapshot()).toBe(before);
    const refused = ofMail(t).slice(1);
    expect(refused).toMatchObject([{ reason: 'unknown' }, { reason: 'disabled' }, { reason: 'unknown' }]);
    expect(JSON.stringify(t.events)).not.toMatch(/(?:no|off|fed)@example/);
  });

  it('does the same work in the store whether or not an account exists', async () => {
    const t = await setMailScene();
    const calls: string[][] = [];
    for (const email of [EMAIL, 'no@example.org']) {
      const visitor = t.newVisitor();
      const page = await visitor.open(FORGOTTEN);
      const made: string[] = [];
      calls.push(made);
      for (const [name, method] of Object.entries(t.store).filter(([, one]) => typeof one === 'function')) {
        const counted = (...args: readonly unknown[]) => {
          made.push(name);
          return (method as (...all: readonly unknown[]) => unknown)(...args);
        };
        Object.assign(t.store, { [name]: counted });
      }
      await visitor.submit(page, { email });
    }
    expect(calls[0]).toContain('findAccountByEmail');
    expect(new Set(calls[0])).toEqual(new Set(calls[1]));
  });

  it('limits an address alike whether or not an account exists, and others not', async () => {
    for (const email of [EMAIL, 'no@example.org']) {
      const t = await setMailScene();
      const statuses: number[] = [];
      for (let site = 0; site < 6; site++)
        statuses.push((await askFor(t.newVisitor(`203.0.${site}.1`), email)).status);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
      expect((await askFor(t.newVisitor(), 'other@example.org')).status).toBe(200);
      expect(ofMail(t).filter(({ accountId }) => accountId === ACCOUNT)).toHaveLength(
        email === EMAIL ? 5 : 0,
      );
    }
  });

  it('limits a site, whatever the addresses', async () => {
    const t = await setMailScene();
    let sight = await askFor(t.visitor, 'user0@example.org');
    for (let user = 1; user < 30; user++) sight = await askFor(t.visitor, `user${user}@example.org`);
    expect(sight.status).toBe(200);
    expect((await askFor(t.visitor, EMAIL)).status).toBe(429);
    expect((await askFor(t.newVisitor(), EMAIL)).status).toBe(200);
  });

  it('is no way to end the link of an administrator: a mailed link replaces mailed ones only', async () => {
    const t = await setMailScene();
    const statusOf = async (path: string) => (await t.newVisitor().open(path)).status;
    const made = await t.server.accounts.reset(EMAIL);
    const { pathname, search } = new URL('link' in made ? made.link : '');
    const byAdministrator = pathname + search;
    const first = await accountLinkPathOf(t, 'reset');
    const second = await accountLinkPathOf(t, 'reset');
    expect(await Promise.all([byAdministrator, first, second].map(statusOf))).toEqual([200, 403, 200]);
    const owner = t.newVisitor();
    const offered = await owner.open(byAdministrator);
    expect(textOf(offered)).toContain('your previous ways of signing in will stop working');
    expect((await owner.submit(offered, CHOSEN)).path).toBe('/account?news=reset');
    expect(await Promise.all([byAdministrator, second].map(statusOf))).toEqual([403, 403]);
  });

  it.each([
    ['reset', true, '/login/forgotten?to=account', 'request another link'],
    ['reset', false, '/login?to=account', 'Ask your administrator for a new one'],
    ['invitation', true, '/login?to=account', 'Ask your administrator for a new one'],
  ] as const)(
    'a %s link that was used leads on, with mail %s to %s',
    async (purpose, hasMail, path, sentence) => {
      const t = hasMail ? await setMailScene() : await setScene();
      const before = t.snapshot();
      const page = await t.visitor.open(`/${purpose}?token=used`);
      expect([page.status, textOf(page)]).toEqual([403, expect.stringContaining(sentence)]);
      expect(t.snapshot()).toBe(before);
      expect(page.html).toContain(`<a class="button" href="${path.replaceAll('&', '&amp;')}">`);
      expect((await t.visitor.open(path)).status).toBe(200);
    },
  );

  it.each([
    ['which is mailed, ends with the mailed one', true, 403],
    ['which an administrator passes on, remains', false, 200],
  ])('of an invited user: the first link, %s', async (_what, isInvited, status) => {
    const t = await setMailScene();
    const made = await t.server.accounts.add('bob@example.org', isInvited);
    const { accountId, link } = made as { accountId: string; link: string };
    const { pathname, search } = new URL(link);
    const mailed = await t.server.mailedLinks?.createAccountLink(accountId, 'invitation');
    expect((await t.visitor.open(new URL(mailed?.link ?? '').href)).status).toBe(200);
    expect((await t.visitor.open(pathname + search)).status).toBe(status);
  });

  it('refuses a form of another site and one without its token, and takes no text for an address', async () => {
    const t = await setMailScene();
    const page = await t.visitor.open(FORGOTTEN);
    const before = t.snapshot();
    expect((await t.visitor.submit(page, { email: EMAIL, token: 'x' })).status).toBe(403);
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await t.visitor.submit(page, { email: EMAIL })).status).toBe(403);
    t.visitor.headers = {};
    const wrong = await t.visitor.submit(page, { email: 'ada' });
    expect([wrong.status, textOf(wrong)]).toEqual([400, expect.stringContaining('such as you@example.com')]);
    expect([t.snapshot(), ofMail(t)]).toEqual([before, []]);
    expect((await t.visitor.submit(page, { email: EMAIL })).status).toBe(200);
  });

  it.each([
    ['reset', '/account?news=reset'],
    ['invitation', '/setup'],
  ] as const)('is replaced by a mailed %s link, but not the second factor', async (purpose, next) => {
    const t = await setMailScene();
    await t.visitor.submit(await t.visitor.open('/login'), { email: EMAIL, password: PASSWORD });
    const setUp = await t.visitor.submit(await t.visitor.open('/account/codes'), { password: PASSWORD });
    const secret = secretOn(setUp);
    await t.visitor.submit(setUp, { code: codeOf(secret, t.clock.now) });
    t.clock.now += 60;
    const holder = t.newVisitor();
    const page = await holder.open(await accountLinkPathOf(t, purpose));
    expect(page.html).not.toContain('name="credential"');
    expect(textOf(page).includes('Your authenticator app stays')).toBe(purpose === 'reset');
    const before = t.snapshot();
    expect((await holder.submit(page, { credential: '{}' })).status).toBe(400);
    expect(t.snapshot()).toBe(before);
    t.events.length = 0;
    const saved = await holder.submit(page, CHOSEN);
    expect([saved.path, textOf(saved)]).toEqual([
      '/login?to=account&news=reset',
      expect.stringContaining('Your new password is saved. Sign in with it and with a code'),
    ]);
    // Also a late invitation replaces the password of an account in use.
    expect(t.events).toMatchObject([{ type: 'account.link_used', purpose: 'reset' }]);
    expect(noticePathOf(t, 'account.link_used')).toContain('/notice?');
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toEqual([]);
    const login = await holder.open('/login?to=account');
    expect(textOf(login)).not.toContain('is saved');
    const asked = await holder.submit(login, {
      email: EMAIL,
      password: CHOSEN.password,
    });
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toEqual([]);
    const code = codeOf(secret, t.clock.now);
    expect((await holder.submit(asked, { code }, '/login/code')).path).toBe('/account');
    const without = await setMailScene();
    const offered = await without.visitor.open(await accountLinkPathOf(without, purpose));
    without.events.length = 0;
    expect((await without.visitor.submit(offered, CHOSEN)).path).toBe(next);
    expect(without.events[0]).toMatchObject({ type: 'account.link_used', purpose });
  });

  it('names an administrator where no mail is sent, and has no other page', async () => {
    const t = await setScene();
    expect(textOf(await t.visitor.open(FORGOTTEN))).toContain('Ask your administrator');
    expect((await t.visitor.open('/login/forgotten', { method: 'POST' })).status).toBe(405);
    expect((await t.visitor.open('/notice?token=x')).status).toBe(404);
    expect(t.server.mailedLinks).toBe(null);
  });
});

describe('this was not me', () => {
  /** Signs in with a browser that has no device cookie, and returns the path of the notice. */
  const signInElsewhere = async (t: Scene, visitor: Visitor) => {
    await visitor.submit(
      await visitor.open('/login?to=account'),
      { email: EMAIL, password: PASSWORD },
      '/login',
    );
    return noticePathOf(t, 'login.succeeded');
  };

  it('a sign-in in a known browser causes no notice', async () => {
    const t = await setMailScene();
    await signInElsewhere(t, t.visitor);
    t.events.length = 0;
    await t.visitor.open('/account');
    await t.visitor.submit(
      await t.visitor.open('/login?to=account&again=yes'),
      { email: EMAIL, password: PASSWORD },
      '/login',
    );
    t.clock.now += 1000;
    await t.visitor.submit(
      await t.visitor.open('/login?to=account&again=yes'),
      { email: EMAIL, password: PASSWORD },
      '/login',
    );
    const signIns = t.events.filter(({ type }) => type === 'login.succeeded');
    expect(signIns.map((event) => 'browser' in event)).toEqual([false]);
    expect(() => noticePathOf(t, 'login.succeeded')).toThrow('no notice');
  });

  it('ends a sign-in by its form, not by its link, with what began since, and shows no address', async () => {
    const t = await setMailScene();
    await signInElsewhere(t, t.visitor);
    t.clock.now += 60;
    const thief = t.newVisitor();
    thief.headers = {
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    };
    const path = await signInElsewhere(t, thief);
    expect(t.events.at(-1)).toMatchObject({ type: 'login.succeeded', browser: 'Firefox on Linux' });
    const owner = t.newVisitor('192.0.2.9');
    const before = t.snapshot();
    const page = await owner.open(path);
    expect([page.status, t.snapshot()]).toEqual([200, before]);
    expect(textOf(page)).toContain('A browser was signed in to your account just now');
    expect(page.html).not.toContain(EMAIL);
    expect((await thief.open('/account')).path).toBe('/account');
    const done = await owner.submit(page, {});
    expect(textOf(done)).toContain('That browser is signed out');
    expect(done.html).toContain('<a class="button" href="/login/forgotten?to=account">Choose a new password');
    expect((await owner.open('/login/forgotten?to=account')).status).toBe(200);
    expect((await thief.open('/account')).path).toBe('/login?to=account');
    expect((await t.visitor.open('/account')).path).toBe('/account');
    expect(t.events.at(-1)).toMatchObject({ type: 'session.ended', reason: 'reported', count: 1 });
    expect(ofMail(t)).toEqual([]);
  });

  it('ends a sign-in once: its link ends no later session, but still secures the account', async () => {
    const t = await setMailScene();
    const path = await signInElsewhere(t, t.newVisitor());
    const owner = t.newVisitor('192.0.2.9');
    const page = await owner.open(path);
    expect((await owner.submit(page, {})).status).toBe(200);
    t.clock.now += 60;
    await signInElsewhere(t, t.visitor);
    const before = t.snapshot();
    expect((await owner.submit(page, {})).status).toBe(403);
    expect(t.snapshot()).toBe(before);
    expect((await t.visitor.open('/account')).path).toBe('/account');
    expect((await owner.submit(page, { secure: 'yes' })).status).toBe(200);
    expect((await t.visitor.open('/account')).path).toBe('/login?to=account');
  });

  it('signs out everywhere and requests a reset link, which is mailed and not shown', async () => {
    const t = await setMailScene();
    await signInElsewhere(t, t.visitor);
    const path = await signInElsewhere(t, t.newVisitor());
    const owner = t.newVisitor('192.0.2.9');
    const done = await owner.submit(await owner.open(path), { secure: 'yes' });
    expect(textOf(done)).toContain('a mail with a link for a new password is on its way');
    expect((await t.visitor.open('/account')).path).toBe('/login?to=account');
    expect(ofMail(t)).toMatchObject([{ type: 'account.reset_requested', accountId: ACCOUNT }]);
    expect(done.html).not.toContain('/reset');
  });

  it('disconnects an app, also one that has not used its code yet', async () => {
    const t = await setMailScene();
    await t.signIn();
    await decide(t.visitor, requestOf());
    const path = noticePathOf(t, 'consent.allowed');
    const page = await t.visitor.open(path);
    expect(textOf(page)).toContain('An app was connected to your account');
    expect(textOf(await t.visitor.submit(page, {}))).toContain('The app is disconnected');
    // The code cannot be told apart from others of the account.
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 10)).toEqual([]);
    expect(t.events.at(-1)).toMatchObject({ type: 'grant.revoked', reason: 'reported' });
  });

  it('disconnects one app of several', async () => {
    const t = await setMailScene();
    await t.signIn();
    await t.signIn();
    const [first, second] = await t.store.listGrants(ACCOUNT, t.clock.now, null, 10);
    const event = { type: 'consent.allowed', accountId: ACCOUNT, grantId: first?.id ?? '' } as const;
    const link = t.server.mailedLinks?.createNotice(recordOf(event, t.clock.now))?.link ?? '';
    await t.visitor.submit(await t.visitor.open(link), {});
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 10)).toMatchObject([{ id: second?.id }]);
  });

  it('removes a passkey of its account only', async () => {
    const t = await setMailScene();
    await addOthers(t);
    const passkey = {
      publicKey: '',
      counter: 0,
      transports: [],
      name: 'Key',
      createdAt: 0,
      lastUsedAt: null,
    };
    for (const [id, accountId] of [
      ['own', ACCOUNT],
      ['other', 'user_federated'],
    ] as const) {
      await inSession(t.store, accountId, (session) =>
        t.store.addPasskey({ ...passkey, id, accountId }, session),
      );
    }
    for (const passkeyId of ['own', 'other']) {
      const event = { type: 'passkey.added', accountId: ACCOUNT, passkeyId } as const;
      const link = t.server.mailedLinks?.createNotice(recordOf(event, t.clock.now))?.link ?? '';
      await t.visitor.submit(await t.visitor.open(link), {});
    }
    expect(await t.store.findPasskey('own')).toBe(null);
    expect(await t.store.findPasskey('other')).not.toBe(null);
  });

  it('of a changed password offers to secure the account alone', async () => {
    const t = await setMailScene();
    const event = { type: 'password.changed', accountId: ACCOUNT } as const;
    const link = t.server.mailedLinks?.createNotice(recordOf(event, t.clock.now))?.link ?? '';
    const page = await t.visitor.open(link);
    expect(page.html.match(/<button/g)).toHaveLength(1);
    expect(textOf(page)).toContain('The password or second factor of your account was changed');
    const before = t.snapshot();
    expect((await t.visitor.submit(page, { secure: 'no' })).status).toBe(400);
    expect([t.snapshot(), ofMail(t)]).toEqual([before, []]);
    const done = await t.visitor.submit(page, { secure: 'yes' });
    expect([done.status, ofMail(t).length, textOf(done)]).toEqual([
      200,
      1,
      expect.stringContaining('Check your mail You are signed out everywhere'),
    ]);
  });

  it('refuses links that are changed, older than a week, of a disabled account, or from another site', async () => {
    const t = await setMailScene();
    const path = await signInElsewhere(t, t.newVisitor());
    const page = await t.visitor.open(path);
    const before = t.snapshot();
    const csrf = t.visitor.headers;
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await t.visitor.submit(page, {})).status).toBe(403);
    t.visitor.headers = csrf;
    for (const token of ['', 'x', `${path.slice(path.indexOf('=') + 1)}A`, 'A'.repeat(2000)]) {
      expect((await t.visitor.open(`/notice?token=${token}`)).status).toBe(403);
      expect((await t.visitor.submit(page, { token, secure: 'yes' })).status).toBe(403);
    }
    t.clock.now += 7 * 86_400;
    expect((await t.visitor.submit(page, {})).status).toBe(403);
    t.clock.now -= 7 * 86_400;
    expect(t.snapshot()).toBe(before);
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    expect((await t.visitor.submit(page, { secure: 'yes' })).status).toBe(403);
    await t.store.enableAccount(ACCOUNT);
    expect((await t.visitor.submit(page, { secure: 'yes' })).status).toBe(200);
  });
});

describe('a sign-in link', () => {
  const setLinkScene = () => setScene({ sendsMail: true, signInLinks: true });

  /** Requests a link for an authorization request, and returns its path. */
  async function requestLink(t: Scene, visitor: Visitor, email = EMAIL): Promise<string> {
    const login = await visitor.open(requestOf());
    const page = await visitor.open(login.path.replace('/login', '/login/link'));
    const sent = await visitor.submit(page, { email });
    expect(textOf(sent)).toContain('Open the link in this browser, within ten minutes.');
    return linkOf(t);
  }

  /** The path of the link that the last request leads to. */
  function linkOf({ server, events, clock }: Scene): string {
    const event = events.findLast(({ type }) => type === 'account.sign_in_link_requested');
    const made = event && server.mailedLinks?.createSignInLink(recordOf(event, clock.now));
    if (made == null) throw new Error('there is no link');
    const { pathname, search } = new URL(made.link);
    return pathname + search;
  }

  it('is offered on the sign-in page where it is configured, and nowhere else', async () => {
    const t = await setLinkScene();
    expect((await t.visitor.open('/login?to=account')).html).toContain('/login/link?to=account');
    const without = await setMailScene();
    expect((await without.visitor.open('/login?to=account')).html).not.toContain('/login/link');
    expect((await without.visitor.open('/login/link?to=account')).status).toBe(404);
    expect((await without.visitor.open('/login/link/open?token=x')).status).toBe(404);
  });

  it('continues the authorization request in the browser that requested it, by its form and once', async () => {
    const t = await setLinkScene();
    const path = await requestLink(t, t.visitor);
    expect(JSON.stringify(t.events)).not.toContain(new URLSearchParams(path.split('?')[1]).get('token'));
    const before = t.snapshot();
    const page = await t.visitor.open(path);
    expect([page.status, t.snapshot()]).toEqual([200, before]);
    expect(textOf(page)).toContain('to continue to');
    const consent = await t.visitor.submit(page, {});
    expect(consent.path).toMatch(/^\/consent\?flow=/);
    expect((await t.visitor.submit(consent, { decision: 'allow' })).left?.searchParams.has('code')).toBe(
      true,
    );
    const session = await t.store.listSessions(ACCOUNT, t.clock.now);
    expect(session).toMatchObject([{ methods: ['otp'] }]);

    const again = await t.visitor.submit(page, {});
    expect([again.status, textOf(again)]).toEqual([
      403,
      expect.stringContaining(
        'It works only once, for ten minutes, and only in the browser where you requested it',
      ),
    ]);
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toEqual(session);
  });

  it('is used once by requests at the same time', async () => {
    const t = await setLinkScene();
    const page = await t.visitor.open(await requestLink(t, t.visitor));
    const both = await Promise.all([t.visitor.submit(page, {}), t.visitor.submit(page, {})]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 403]);
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toHaveLength(1);
  });

  it('works in no other browser, and not changed, after ten minutes, or for a disabled account', async () => {
    const t = await setLinkScene();
    const path = await requestLink(t, t.visitor);
    const page = await t.visitor.open(path);
    const other = t.newVisitor();
    await other.open(requestOf());
    const before = t.snapshot();
    const refuse = async (visitor: Visitor, fields: Readonly<Record<string, string>> = {}) => {
      const sight = await visitor.submit(page, fields);
      expect([sight.status, t.snapshot()]).toEqual([403, before]);
    };
    await refuse(other);
    expect((await other.open(path)).status).toBe(403);
    for (const token of ['', 'x', `${path.split('=')[1]}A`, 'A'.repeat(3000)])
      await refuse(t.visitor, { token });
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    await refuse(t.visitor);
    t.visitor.headers = {};
    t.clock.now += 600;
    await refuse(t.visitor);
    t.clock.now -= 600;
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    expect((await t.visitor.submit(page, {})).status).toBe(403);
    await t.store.enableAccount(ACCOUNT);
    expect((await t.visitor.submit(page, {})).status).toBe(200);
  });

  it('that was requested before a reset does not outlive it, and the next one works', async () => {
    const t = await setLinkScene();
    const page = await t.visitor.open(await requestLink(t, t.visitor));
    const reset = await t.server.accounts.reset(EMAIL);
    const { pathname, search } = new URL('link' in reset ? reset.link : '');
    const password = 'a bridge of rope and planks';
    const owner = t.newVisitor();
    await owner.submit(await owner.open(pathname + search), { password, password_again: password });
    const before = t.snapshot();
    expect((await t.visitor.submit(page, {})).status).toBe(403);
    expect(t.snapshot()).toBe(before);
    const next = await t.visitor.open(await requestLink(t, t.visitor));
    expect((await t.visitor.submit(next, {})).path).toMatch(/^\/consent/);
  });

  it('of an account with a second factor also needs that', async () => {
    const t = await setLinkScene();
    const owner = t.newVisitor();
    await owner.submit(await owner.open('/login'), { email: EMAIL, password: PASSWORD });
    const setUp = await owner.submit(await owner.open('/account/codes'), { password: PASSWORD });
    const secret = secretOn(setUp);
    await owner.submit(setUp, { code: codeOf(secret, t.clock.now) });
    await t.store.endSessions(ACCOUNT, null);
    t.clock.now += 60;
    const page = await t.visitor.open(await requestLink(t, t.visitor));
    const asked = await t.visitor.submit(page, {});
    expect(asked.html).toContain('name="code"');
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toEqual([]);
    const consent = await t.visitor.submit(asked, { code: codeOf(secret, t.clock.now) }, '/login/code');
    expect(consent.path).toMatch(/^\/consent/);
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toMatchObject([{ methods: ['otp', 'mfa'] }]);
  });

  it('is requested alike for an unknown address', async () => {
    const t = await setLinkScene();
    const [known, unknown] = [t.newVisitor('198.51.100.1'), t.newVisitor('198.51.100.2')];
    const pages = await Promise.all(
      [known, unknown].map((visitor) => visitor.open('/login/link?to=account')),
    );
    const [first, second] = [
      await known.submit(pages[0] as Sight, { email: EMAIL }),
      await unknown.submit(pages[1] as Sight, { email: 'no@example.org' }),
    ];
    expect([second.status, second.html]).toEqual([first.status, first.html]);
    expect(ofMail(t)).toMatchObject([{ type: 'account.link_refused', reason: 'unknown' }]);
  });
});

describe('recipients of mail', () => {
  it('are local accounts by their address, and federated ones by the verified one', async () => {
    const t = await setMailScene();
    await addOthers(t);
    const addressOf = (accountId: string) => t.server.mailedLinks?.findAddress(accountId);
    expect(await addressOf(ACCOUNT)).toBe(EMAIL);
    expect(await addressOf('user_federated')).toBe('fed@example.org');
    expect(await addressOf('user_none')).toBe(null);
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    expect(await addressOf(ACCOUNT)).toBe(null);
    expect(await t.server.mailedLinks?.createAccountLink(ACCOUNT, 'reset')).toBe(null);
  });

  it('get notices in the language of their last sign-in, but not in that of the one that it reports', async () => {
    const t = await setMailScene();
    const languageOf = () => {
      const { sessionId = null } = t.events.findLast(({ type }) => type === 'login.succeeded') as {
        sessionId?: string;
      };
      return t.server.mailedLinks?.findLanguage(ACCOUNT, sessionId);
    };
    for (const [language, expected] of [
      ['de', null],
      ['ja', 'de'],
    ] as const) {
      const visitor = t.newVisitor();
      visitor.headers = { 'accept-language': language };
      await visitor.submit(await visitor.open('/login'), { email: EMAIL, password: PASSWORD });
      expect(await languageOf()).toBe(expected);
      t.clock.now += 1;
    }
    const without = await setScene();
    await without.visitor.submit(await without.visitor.open('/login'), { email: EMAIL, password: PASSWORD });
    expect((await without.store.listSessions(ACCOUNT, without.clock.now))[0]).not.toHaveProperty('language');
  });

  it('an invited account gets another link that works for a week', async () => {
    const t = await setMailScene();
    const made = await t.server.accounts.add('bob@example.org', true);
    expect(t.events.slice(-2).map(({ type }) => type)).toEqual([
      'account.created',
      'account.invitation_requested',
    ]);
    const { accountId = '', link: shown = '' } = 'refused' in made ? {} : made;
    const mailed = await t.server.mailedLinks?.createAccountLink(accountId, 'invitation');
    expect((await t.visitor.open(shown)).status).toBe(403);
    t.clock.now += 7 * 86_400 - 1;
    expect(textOf(await t.visitor.open(mailed?.link ?? ''))).toContain('Choose how to sign in');
  });
});
