/** Accounts: e-mail keys, password rules and hashing, the first account, bootstrap. */
import crypto, { argon2Sync } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { useRealPasswordHashes } from '../../../tests/support/cheap-password-hashes.ts';
import { costHere, costOf } from '../../../tests/support/cost.ts';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { inSession } from '../../store/testing/samples.ts';
import { ConfigurationError, createAuthorizationServer } from '../src/index.ts';
import { hashSecret } from '../src/secrets.ts';
import { emailKey } from '../src/users/accounts.ts';
import { findPasswordIssue, normalizePassword } from '../src/users/password-rules.ts';
import { createPasswords } from '../src/users/passwords.ts';
import { ACCOUNT, ISSUER, MASTER_KEY, RESOURCES } from './server-under-test.ts';
import {
  createVisitor,
  duringPasswordCheck,
  EMAIL,
  PASSWORD,
  requestOf,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

/** A hash at an outdated cost. */
function cheapHash(message: string): string {
  const salt = 'somesaltsomesalt';
  const cost = { memory: 1024, passes: 1, parallelism: 1 };
  const tag = argon2Sync('argon2id', { message, nonce: salt, tagLength: 32, ...cost });
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=1024,t=1,p=1$${text(Buffer.from(salt))}$${text(tag)}`;
}

/** As many accents as a form can hold; normalizing them takes quadratic time. */
const ACCENTS = `${'\u0301\u0327'.repeat(8000)}${'\u0301'.repeat(8000)}${'\u0327'.repeat(8000)}`;

describe('emailKey', () => {
  it('T075: emailKey rejects endless accents without normalizing them, and reads a few', () => {
    expect(emailKey(`a${ACCENTS}@example.org`)).toBe(null);
    expect(costHere(() => emailKey(`a${ACCENTS}@example.org`))).toBeLessThan(50);
    expect(emailKey('zu\u0308rich@example.org')).toBe('z\u00fcrich@example.org');
  });

  it.each([
    ['an address', 'ada@example.org', 'ada@example.org'],
    ['upper case and space', '  Ada@Example.ORG\n', 'ada@example.org'],
    ['full width', 'ａda＠example．org', 'ada@example.org'],
    ['a domain that is not ASCII', 'ada@münchen.example', 'ada@xn--mnchen-3ya.example'],
    ['the same in ASCII', 'ada@xn--mnchen-3ya.example', 'ada@xn--mnchen-3ya.example'],
    ['a host without a domain', 'root@localhost', 'root@localhost'],
    ['a plus', 'ada+notes@example.org', 'ada+notes@example.org'],
    ['nothing', '', null],
    ['no sign', 'ada.example.org', null],
    ['two signs', 'a@corp@evil', null],
    ['no name', '@example.org', null],
    ['no domain', 'ada@', null],
    ['a space', 'ada b@example.org', null],
    ['a control character', 'ada\u0000@example.org', null],
    ['something invisible', 'ada\u200b@example.org', null],
    ['a path', 'ada@example.org/x', null],
    ['a query', 'ada@example.org?x', null],
    ['an escaped letter', 'ada@ex%61mple.org', null],
    ['an address of another kind', 'ada@[::1]', null],
    [
      'too long',
      `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.org`,
      null,
    ],
  ])('emailKey normalizes or rejects %s', (_description, given, expected) => {
    expect(emailKey(given)).toBe(expected);
  });
});

describe('findPasswordIssue', () => {
  it.each([
    ['ten characters', 'abcdefghik', null],
    ['ten characters of which each is two', '🗝🗝🗝🗝🗝🗝🗝🗝🗝🚪', null],
    ['a sentence', 'a gate of oak and iron', null],
    ['two hundred characters', 'ab'.repeat(100), null],
    ['nine characters', 'abcdefghi', 'short'],
    ['five characters of which each is two', '🗝'.repeat(5), 'short'],
    ['too many', 'ab'.repeat(101), 'long'],
    ['the address', 'Ada.Lovelace@Example.org', 'address'],
    ['the name in the address', 'ada.lovelace', 'address'],
    ['a first guess', 'Password123', 'guessable'],
    ['a first guess in full width', 'ｐａｓｓｗｏｒｄ１２３', 'guessable'],
    ['one character', 'aaaaaaaaaaaa', 'guessable'],
  ])('findPasswordIssue checks %s', (_description, given, expected) => {
    expect(findPasswordIssue(given, 'ada.lovelace@example.org')).toBe(expected);
  });
});

describe('passwords', () => {
  useRealPasswordHashes();
  const passwords = createPasswords();
  const UNKNOWN_REQUESTER = { isKnown: false, fairnessKey: '' };

  it('T075: passwords of endless accents are rejected without normalizing them, and a few are allowed', () => {
    expect(costHere(() => normalizePassword(ACCENTS))).toBeLessThan(50);
    expect(findPasswordIssue(ACCENTS, 'ada@example.org')).toBe('long');
    expect(findPasswordIssue('e\u0302\u0301x'.repeat(100), 'ada@example.org')).toBe(null);
  });

  it('passwords are hashed with argon2id in PHC format, each with its own salt', async () => {
    const [first, second] = await Promise.all([passwords.hash('same', 'ada'), passwords.hash('same', 'ada')]);
    expect(first).toMatch(/^\$argon2id\$v=19\$m=47104,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(first).not.toBe(second);
    expect(await passwords.verify('same', first, UNKNOWN_REQUESTER)).toBe(true);
    expect(await passwords.verify('other', first, UNKNOWN_REQUESTER)).toBe(false);
  });

  it('passwords match however the keyboard composes their characters', async () => {
    const phc = await passwords.hash('Zu\u0308rich \ufb01', 'ada');
    expect(await passwords.verify('Z\u00fcrich fi', phc, UNKNOWN_REQUESTER)).toBe(true);
  });

  it('passwords of unknown accounts never match, and cost the same work', async () => {
    const phc = await passwords.hash('secret', 'ada');
    const spent = { there: Infinity, absent: Infinity };
    // In turns, and the least of each: a loaded machine only adds to the cost.
    for (let round = 0; round < 8; round++) {
      for (const [kind, hash] of [
        ['there', phc],
        ['absent', null],
      ] as const) {
        const cost = await costOf(async () =>
          expect(await passwords.verify('wrong', hash, UNKNOWN_REQUESTER)).toBe(false),
        );
        spent[kind] = Math.min(spent[kind], cost);
      }
    }
    expect(spent.absent / spent.there).toBeGreaterThan(0.4);
    expect(spent.absent / spent.there).toBeLessThan(2.5);
  });

  it('passwords are verified at the cost of their hash, up to a limit', async () => {
    const phc = cheapHash('password');
    expect([await passwords.verify('password', phc, UNKNOWN_REQUESTER), passwords.isOutdated(phc)]).toEqual([
      true,
      true,
    ]);
    expect(passwords.isOutdated(await passwords.hash('x', 'ada'))).toBe(false);
    for (const foreign of ['', 'plain', '$2b$10$abc', phc.replace('m=1024', 'm=99999999')]) {
      await expect(passwords.verify('password', foreign, UNKNOWN_REQUESTER)).rejects.toThrow(TypeError);
    }
  });
});

describe('signing in', () => {
  async function guess(visitor: Visitor, email: string, password: string): Promise<Sight> {
    return visitor.submit(await visitor.open(requestOf()), { email, password });
  }

  it('T075: a failed login looks the same for an unknown account, a wrong password and a disabled account', async () => {
    const t = await setScene();
    const normal = (sight: Sight) =>
      sight.html.replace(/((?:value|data-options)="|back=|forgotten\?flow=)[^"]*"/g, '$1"');
    const wrong = await guess(t.newVisitor(), EMAIL, 'wrong');
    const unknown = await guess(t.newVisitor('198.51.100.8'), 'eve@example.org', 'wrong');
    const odd = await guess(t.newVisitor('198.51.100.9'), 'no address at all', 'wrong');
    await t.server.accounts.add('grace@example.org');
    await t.server.accounts.disable('grace@example.org');
    const disabled = await guess(t.newVisitor('198.51.100.10'), 'grace@example.org', 'wrong');
    for (const sight of [wrong, unknown, odd, disabled]) {
      expect([sight.status, normal(sight)]).toEqual([400, normal(wrong)]);
      expect([...sight.headers.keys()]).toEqual([...wrong.headers.keys()]);
      expect(sight.headers.getSetCookie()).toEqual([]);
    }
    expect(textOf(wrong)).toContain('Incorrect email or password.');
    expect((await guess(t.visitor, ` ${EMAIL.toUpperCase()} `, PASSWORD)).path).toMatch(/^\/consent/);
  });

  it('T075: a login computes the same hash for an unknown account as for a wrong password', async () => {
    const t = await setScene();
    const hashes = vi.spyOn(crypto, 'argon2');
    onTestFinished(() => hashes.mockRestore());
    const workFor = async (email: string) => {
      const visitor = t.newVisitor();
      const login = await visitor.open(requestOf());
      hashes.mockClear();
      expect((await visitor.submit(login, { email, password: 'wrong' })).status).toBe(400);
      return hashes.mock.calls.map(([algorithm, { memory, passes, parallelism, tagLength }]) => ({
        algorithm,
        ...{ memory, passes, parallelism, tagLength },
      }));
    };
    const work = await workFor(EMAIL);
    expect(work).toMatchObject([{ algorithm: 'argon2id', memory: 47_104 }]);
    expect(await workFor('unknown@example.org')).toEqual(work);
  });

  it('T075: after too many failures a login is throttled even with the right password, and says for how long', async () => {
    const t = await setScene();
    const thief = t.newVisitor();
    for (let n = 0; n < 5; n++) expect((await guess(thief, EMAIL, `guess ${n}`)).status).toBe(400);
    const before = t.snapshot();
    const login = await thief.open(requestOf());
    const sight = await thief.submit(login, { email: EMAIL, password: PASSWORD });
    expect([sight.status, sight.headers.get('retry-after'), sight.left]).toEqual([429, '15', null]);
    expect(textOf(sight)).toContain('Too many attempts. Try again in 15 seconds.');
    expect(t.snapshot().match(/"hash"/g)).toEqual(before.match(/"hash"/g));
    expect((await guess(t.visitor, EMAIL, PASSWORD)).path).toMatch(/^\/consent/);
    t.clock.now += 15;
    expect((await guess(thief, EMAIL, PASSWORD)).path).toMatch(/^\/consent/);
  });

  it('a failed login keeps the typed email, but never the password', async () => {
    const t = await setScene();
    const sight = await guess(t.visitor, '"><b>ada@example.org', 'my secret');
    expect(sight.html).toContain('value="&quot;&gt;&lt;b&gt;ada@example.org"');
    expect(sight.html).not.toContain('my secret');
    const empty = await t.visitor.submit(sight, { email: EMAIL, password: '' });
    expect([empty.status, textOf(empty).includes('Enter your email and password.')]).toEqual([400, true]);
  });

  it('T075: a login with endless accents fails like any other wrong password', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const before = t.snapshot();
    const many = ACCENTS.slice(0, 2000);
    for (const fields of [
      { email: `a${many}@example.org`, password: PASSWORD },
      { email: EMAIL, password: many },
    ]) {
      const sight = await t.visitor.submit(login, fields);
      expect([sight.status, sight.left]).toEqual([400, null]);
      expect(textOf(sight)).toContain('Incorrect email or password.');
    }
    expect(t.snapshot()).toBe(before);
    expect((await t.visitor.submit(login, { email: EMAIL, password: PASSWORD })).path).toMatch(/^\/consent/);
  });

  it('a login rehashes a password of outdated cost', async () => {
    const t = await setScene();
    const current = (await t.store.findAccount(ACCOUNT))?.passwordHash ?? '';
    await t.store.replacePasswordHash(ACCOUNT, current, cheapHash(PASSWORD));
    expect((await guess(t.visitor, EMAIL, PASSWORD)).path).toMatch(/^\/consent/);
    expect((await t.store.findAccount(ACCOUNT))?.passwordHash).toMatch(
      /^\$argon2id\$v=19\$m=47104,t=1,p=1\$/,
    );
  });

  it('a login whose password is rehashed or changed by another request meanwhile continues with the stored one only', async () => {
    const t = await setScene();
    for (const [password, isRight] of [
      [PASSWORD, true],
      ['the password of another request', false],
    ] as const) {
      const current = (await t.store.findAccount(ACCOUNT))?.passwordHash ?? '';
      await t.store.replacePasswordHash(ACCOUNT, current, cheapHash(PASSWORD));
      const stored = await createPasswords().hash(password, ACCOUNT);
      const end = await duringPasswordCheck(t, () =>
        t.store.replacePasswordHash(ACCOUNT, cheapHash(PASSWORD), stored),
      );
      const sight = await guess(t.newVisitor(), EMAIL, PASSWORD);
      end();
      expect(sight.path.startsWith('/consent')).toBe(isRight);
      expect((await t.store.findAccount(ACCOUNT))?.passwordHash).toBe(stored);
    }
  });

  it('a login that rehashes the password continues to MFA and sets a valid device cookie', async () => {
    const t = await setScene();
    const current = (await t.store.findAccount(ACCOUNT))?.passwordHash ?? '';
    await t.store.replacePasswordHash(ACCOUNT, current, cheapHash(PASSWORD));
    const factor = { accountId: ACCOUNT, encryptedSecret: 'x', lastStep: 0, createdAt: t.clock.now };
    await inSession(t.store, ACCOUNT, (session) =>
      t.store.saveTotpFactor(factor, [hashSecret('ABCDEFGHIJKLMNOP')], session),
    );
    const half = await guess(t.visitor, EMAIL, PASSWORD);
    expect(textOf(half)).toContain('Enter your code');
    expect((await t.visitor.submit(half, { code: 'ABCD-EFGH-IJKL-MNOP' })).path).toMatch(/^\/consent/);
    for (let n = 0; n < 30; n++) await guess(t.newVisitor(`198.51.100.${n}`), EMAIL, 'wrong');
    const visitor = t.newVisitor('203.0.113.7');
    for (const [name, value] of t.visitor.cookies) visitor.cookies.set(name, value);
    const login = await visitor.open(requestOf({ prompt: 'login' }));
    expect(textOf(await visitor.submit(login, { email: EMAIL, password: PASSWORD }))).toContain(
      'Enter your code',
    );
  });

  it('a login form without the CSRF token of its page is rejected', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const before = t.snapshot();
    for (const fields of [{ token: undefined }, { token: 'x' }]) {
      const sight = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD, ...fields });
      expect([sight.status, sight.headers.getSetCookie()]).toEqual([403, []]);
    }
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await t.visitor.submit(login, { email: EMAIL, password: PASSWORD })).status).toBe(403);
    expect(t.snapshot()).toBe(before);
    t.visitor.headers = {};
    expect((await t.visitor.submit(login, { email: EMAIL, password: PASSWORD })).status).toBe(200);
  });

  it('when too many log in at once, some get 503 with Retry-After and the rest are served', async () => {
    const t = await setScene();
    const crowd = await Promise.all(
      Array.from({ length: 45 }, async (_, n) => {
        const visitor = t.newVisitor(`198.51.100.${n}`);
        return { visitor, login: await visitor.open(requestOf()) };
      }),
    );
    const sights = await Promise.all(
      crowd.map(({ visitor, login }, n) =>
        visitor.submit(login, { email: `user${n}@example.org`, password: 'x' }),
      ),
    );
    const busy = sights.filter(({ status }) => status === 503);
    expect(sights.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(34);
    expect(busy.length).toBeGreaterThan(0);
    expect(busy.length).toBe(45 - sights.filter(({ status }) => status === 400).length);
    for (const sight of busy) {
      expect(sight.headers.get('retry-after')).toBe('2');
      expect(textOf(sight)).toContain('This server is busy');
    }
    expect((await guess(t.visitor, EMAIL, PASSWORD)).path).toMatch(/^\/consent/);
  });

  it('a login body that is not a form gets an error page', async () => {
    const t = await setScene();
    const json = await t.visitor.open('/login', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    expect([json.status, json.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
    const large = await t.visitor.open('/login', {
      method: 'POST',
      body: new URLSearchParams({ email: 'x'.repeat(70_000) }),
    });
    expect(large.status).toBe(413);
  });
});

describe('the first account', () => {
  async function startEmpty(clock?: { now: number }) {
    const store = await openEmptyStore();
    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store,
      masterKey: MASTER_KEY,
      resources: RESOURCES.map(({ introspectionClients: _, ...resource }) => resource),
      ...(clock !== undefined && { clock: () => clock.now }),
    });
    onTestFinished(async () => {
      await server.close();
      await store.close();
    });
    return { store, server, visitor: createVisitor(server) };
  }

  const good = { email: 'Ada@Example.org', password: PASSWORD, password_again: PASSWORD };

  it('the first account is created through a one-time link, which logs its owner in', async () => {
    const { server, store, visitor } = await startEmpty();
    const link = new URL((await server.setupLink()) ?? '');
    expect([link.origin, link.pathname]).toEqual([ISSUER, '/setup']);
    const form = await visitor.open(`${link.pathname}${link.search}`);
    expect(textOf(form)).toContain('Create the first account');
    const done = await visitor.submit(form, good);
    expect([done.status, done.path]).toEqual([200, '/setup']);
    expect(textOf(done)).toContain('Your account is ready');
    expect(textOf(done)).toContain('Signed in as Ada@Example.org');
    expect(await store.findAccountByEmail('ada@example.org')).toMatchObject({
      email: 'Ada@Example.org',
      disabledAt: null,
    });
    expect(await server.setupLink()).toBeNull();
    for (const act of [
      () => visitor.submit(form, { ...good, email: 'eve@example.org' }),
      () => visitor.open(`${link.pathname}${link.search}`),
    ]) {
      const sight = await act();
      expect([sight.status, textOf(sight).includes('There is an account already')]).toEqual([403, true]);
    }
    expect(await store.findAccountByEmail('eve@example.org')).toBeNull();
  });

  it.each([
    ['an address', { email: 'ada' }, 'Enter an email address such as you@example.com.'],
    ['a password', { password: '', password_again: '' }, 'The password must have at least 10 characters.'],
    [
      'a longer password',
      { password: 'short', password_again: 'short' },
      'The password must have at least 10 characters.',
    ],
    [
      'a better password',
      { password: 'password123', password_again: 'password123' },
      'This password is too easy to guess',
    ],
    [
      'the same password twice',
      { password_again: 'a gate of oak and tin' },
      'The two passwords do not match.',
    ],
    ['the password a second time', { password_again: undefined }, 'The two passwords do not match.'],
  ])('the first account needs %s', async (_what, wrong, words) => {
    const { server, store, visitor } = await startEmpty();
    const link = new URL((await server.setupLink()) ?? '');
    const form = await visitor.open(`${link.pathname}${link.search}`);
    const sight = await visitor.submit(form, { ...good, ...wrong });
    expect([sight.status, textOf(sight).includes(words)]).toEqual([400, true]);
    expect(await store.hasLocalAccounts()).toBe(false);
    expect((await visitor.submit(sight, good)).status).toBe(200);
    expect(await store.hasLocalAccounts()).toBe(true);
  });

  it('the first account is not created by an invalid link, another site, or no link', async () => {
    const { server, store, visitor } = await startEmpty();
    const link = new URL((await server.setupLink()) ?? '');
    for (const path of [
      '/setup',
      '/setup?token=',
      `/setup?token=${'x'.repeat(43)}`,
      `${link.pathname}${link.search}x`,
    ]) {
      expect((await visitor.open(path)).status).toBe(403);
    }
    const form = await visitor.open(`${link.pathname}${link.search}`);
    expect((await visitor.submit(form, { ...good, token: 'x'.repeat(43) })).status).toBe(403);
    visitor.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await visitor.submit(form, good)).status).toBe(403);
    expect(await store.hasLocalAccounts()).toBe(false);
    visitor.headers = {};
    expect((await visitor.submit(form, good)).status).toBe(200);
  });

  it('the first account is not created by a setup link after a day', async () => {
    const clock = { now: 1_800_000_000 };
    const { server, store, visitor } = await startEmpty(clock);
    const open = (link: string | null) => {
      const { pathname, search } = new URL(link ?? '');
      return visitor.open(`${pathname}${search}`);
    };
    const old = await server.setupLink();
    const form = await open(old);
    expect(form.status).toBe(200);
    clock.now += 86_400;
    const late = await visitor.submit(form, good);
    expect([late.status, textOf(late)]).toEqual([403, expect.stringContaining('no longer works')]);
    expect((await open(old)).status).toBe(403);
    expect(await store.listAccounts('', 1)).toEqual([]);
    const recent = await open(await server.setupLink());
    clock.now += 86_399;
    expect((await visitor.submit(recent, good)).status).toBe(200);
  });

  it('concurrent setup links create only one first account', async () => {
    const { server } = await startEmpty();
    const links = [await server.setupLink(), await server.setupLink(), await server.setupLink()];
    const outcomes = await Promise.all(
      links.map(async (link, n) => {
        const visitor = createVisitor(server);
        const { pathname, search } = new URL(link ?? '');
        return visitor.submit(await visitor.open(`${pathname}${search}`), {
          ...good,
          email: `ada${n}@example.org`,
        });
      }),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
  });

  it('bootstrap creates the first account once', async () => {
    const { server, visitor } = await startEmpty();
    const link = new URL((await server.setupLink()) ?? '');
    expect(await server.bootstrap(EMAIL, good.password)).toBe('created');
    expect(await server.bootstrap('eve@example.org', good.password)).toBe('exists');
    expect(await server.setupLink()).toBeNull();
    expect((await visitor.open(`${link.pathname}${link.search}`)).status).toBe(403);
  });

  it.each([
    ['no-address', ''],
    ['no-address', 'ninechars'],
    ['no-address', 'password123'],
    ['no-address', 'x'.repeat(201)],
  ])(
    'T075: the first account is not made by settings with invalid values, and all are named together: %s %s',
    async (email, password) => {
      const { server, store } = await startEmpty();
      const attempt = server.bootstrap(email, password);
      await expect(attempt).rejects.toThrow(ConfigurationError);
      await expect(attempt).rejects.toMatchObject({
        issues: [expect.stringContaining('email'), expect.stringContaining('password')],
      });
      expect(await store.hasLocalAccounts()).toBe(false);
    },
  );
});
