/** Changes to an account need a credential in their own form, because a session can be copied. */
import { describe, expect, it } from 'vitest';
import { inSession } from '../../store/testing/samples.ts';
import { challengeOf, enrol, type Passkey, USER_PRESENT } from './authenticator.ts';
import { codeOf, recoveryCodesOn, secretOn } from './code-app.ts';
import { ACCOUNT, NOTES, RESOURCES } from './server-under-test.ts';
import {
  EMAIL,
  type Fields,
  PASSWORD,
  permissionField,
  type Scene,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

interface Owner {
  readonly t: Scene;
  /** Another browser with the owner’s cookies, a minute after the login. */
  readonly thief: Visitor;
  readonly secret: string;
  readonly recovery: readonly string[];
  readonly passkey: Passkey;
}

/** Ada has TOTP and a passkey, has just signed in with it, and her cookies were copied. */
async function setUp(): Promise<Owner> {
  const t = await setScene();
  const passkey = await enrol(t);
  await signInBy(t.visitor, passkey);
  const page = await t.visitor.submit(await t.visitor.open('/account/codes'), { password: PASSWORD });
  const secret = secretOn(page);
  const recovery = recoveryCodesOn(await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) }));
  t.clock.now += 60;
  const thief = t.newVisitor('203.0.113.9');
  for (const [name, value] of t.visitor.cookies) thief.cookies.set(name, value);
  return { t, thief, secret, recovery, passkey };
}

/** @param flags of the authenticator; by default, it has verified its user */
async function signInBy(visitor: Visitor, passkey: Passkey, flags?: number): Promise<void> {
  const login = await visitor.open('/login?to=account');
  const credential = passkey.answer(challengeOf(login), flags === undefined ? {} : { flags });
  await visitor.submit(login, { credential }, '/login/passkey');
}

interface Change {
  readonly name: string;
  /** Where its first form is. */
  readonly page: string;
  readonly action: string;
  readonly fields?: Fields;
  /** Whether it has happened, or its second form is shown. */
  done(owner: Owner, sight: Sight): Promise<boolean>;
}

const isOn = async ({ t }: Owner) => (await t.store.findTotpFactor(ACCOUNT)) !== null;
const CHANGES: readonly Change[] = [
  {
    name: 'switching off the second factor',
    page: '/account',
    action: '/account/codes/off',
    done: async (owner) => !(await isOn(owner)),
  },
  {
    name: 'replacing the second factor',
    page: '/account/codes',
    action: '/account/codes',
    done: async (_owner, sight) => secretOn(sight) !== '',
  },
  {
    name: 'replacing the recovery codes',
    page: '/account/codes/recovery',
    action: '/account/codes/recovery',
    done: async (_owner, sight) => recoveryCodesOn(sight).length === 10,
  },
  {
    name: 'adding a passkey',
    page: '/account/passkeys/add',
    action: '/account/passkeys/add',
    done: async (_owner, { html }) => html.includes('data-passkey="create"'),
  },
  {
    name: 'removing a passkey',
    page: '/account',
    action: '/account/passkeys/remove',
    fields: { passkey: Buffer.from('credential of ada').toString('base64url') },
    done: async ({ t }) => (await t.store.listPasskeys(ACCOUNT)).length === 0,
  },
  {
    name: 'deleting the account',
    page: '/account/remove',
    action: '/account/remove',
    done: async ({ t }) => (await t.store.findAccount(ACCOUNT)) === null,
  },
];

/** What a form can present: nothing, or a credential that is wrong. */
const WRONG: readonly Fields[] = [
  {},
  { code: '000000' },
  { code: '' },
  { password: 'not this one' },
  { password: '' },
  { credential: '{}' },
  { proof: 'x' },
  { proof: '9999999999.x' },
];

/** A proof of this browser, for changing another thing. */
const proofOn = ({ html }: Sight) => /name="proof" value="([^"]+)"/.exec(html)?.[1] ?? '';

/** It begins with the time at which it expires. */
const postponed = (proof: string) => {
  const bytes = Buffer.from(proof, 'base64url');
  bytes.writeUIntBE(bytes.readUIntBE(0, 6) + 600, 0, 6);
  return bytes.toString('base64url');
};

describe('a copied session with a recent login', () => {
  it.each(CHANGES)('$name needs a credential that a copied session does not have', async (change) => {
    const owner = await setUp();
    const { t, thief } = owner;
    const form = await thief.open(change.page);
    const before = t.snapshot();
    for (const wrong of WRONG) {
      const sight = await thief.submit(form, { ...change.fields, ...wrong }, change.action);
      expect([wrong, await change.done(owner, sight)]).toEqual([wrong, false]);
    }
    expect(t.snapshot()).toBe(before);
    const right = { ...change.fields, password: PASSWORD };
    const form2 = await t.visitor.open(change.page);
    expect(await change.done(owner, await t.visitor.submit(form2, right, change.action))).toBe(true);
  });

  it.each(['code', 'recovery code', 'passkey'] as const)(
    'each change can be confirmed by a %s',
    async (kind) => {
      for (const change of CHANGES) {
        const owner = await setUp();
        const { t, secret, recovery, passkey } = owner;
        const asked = await t.visitor.submit(
          await t.visitor.open(change.page),
          { ...change.fields },
          change.action,
        );
        const credential = {
          code: () => ({ code: codeOf(secret, t.clock.now) }),
          'recovery code': () => ({ code: recovery[3] }),
          passkey: () => ({ credential: passkey.answer(challengeOf(asked)) }),
        }[kind]();
        expect([change.name, await change.done(owner, await t.visitor.submit(asked, credential))]).toEqual([
          change.name,
          true,
        ]);
      }
    },
  );

  it('guessing codes to confirm a change is throttled like a sign-in, and reported', async () => {
    const { t, thief, secret } = await setUp();
    const form = await thief.submit(await thief.open('/account'), {}, '/account/codes/off');
    for (let n = 0; n < 5; n++) expect((await thief.submit(form, { code: `00000${n}` })).status).toBe(400);
    const held = await thief.submit(form, { code: codeOf(secret, t.clock.now) });
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '15']);
    expect(t.events.filter(({ type }) => type === 'login.failed')).toHaveLength(5);
    t.clock.now += 15;
    expect((await thief.submit(form, { code: codeOf(secret, t.clock.now) })).path).toContain('codes-off');
  });

  it('a passkey response for another page, and a passkey of another account, confirm nothing', async () => {
    const { t, passkey } = await setUp();
    const off = await t.visitor.submit(await t.visitor.open('/account'), {}, '/account/codes/off');
    const removal = await t.visitor.submit(await t.visitor.open('/account/remove'), {});
    const login = await t.newVisitor().open('/login');
    const before = t.snapshot();
    for (const page of [off, login]) {
      const credential = passkey.answer(challengeOf(page));
      expect((await t.visitor.submit(removal, { credential })).status).toBe(400);
    }
    expect(t.snapshot()).toBe(before);
    const credential = passkey.answer(challengeOf(removal));
    expect((await t.visitor.submit(removal, { credential })).status).toBe(200);
    expect(await t.server.accounts.list()).toEqual([]);
  });

  it('the second form of a change needs the proof of its first one, of this session and within ten minutes', async () => {
    const { t, thief, secret } = await setUp();
    const setup = async (visitor: Visitor) =>
      visitor.submit(await visitor.open('/account/codes'), { password: PASSWORD });
    const page = await setup(t.visitor);
    const code = () => codeOf(secretOn(page), t.clock.now);
    const adding = await t.visitor.submit(await t.visitor.open('/account/passkeys/add'), {
      password: PASSWORD,
    });
    const elsewhere = t.newVisitor();
    const half = await elsewhere.open('/login?to=account');
    const second = await elsewhere.submit(half, { email: EMAIL, password: PASSWORD });
    t.clock.now += 30;
    await elsewhere.submit(second, { code: codeOf(secret, t.clock.now) });
    const other = await setup(elsewhere);
    const before = t.snapshot();
    for (const [visitor, proof] of [
      [thief, undefined],
      [thief, proofOn(adding)],
      [thief, proofOn(other)],
      [thief, postponed(proofOn(page))],
    ] as const) {
      expect(recoveryCodesOn(await visitor.submit(page, { code: code(), proof }))).toEqual([]);
      expect(t.snapshot()).toBe(before);
    }
    t.clock.now += 600;
    expect(recoveryCodesOn(await t.visitor.submit(page, { code: code() }))).toEqual([]);
    expect(t.snapshot()).toBe(before);
    const again = await setup(t.visitor);
    const done = await t.visitor.submit(again, { code: codeOf(secretOn(again), t.clock.now) });
    expect(recoveryCodesOn(done)).toHaveLength(10);
  });
});

describe('a session of one factor, for an account with a passkey', () => {
  /** Ada has a passkey; another browser signed in with one factor. */
  async function setUpOne(flags?: number): Promise<Omit<Owner, 'secret' | 'recovery'>> {
    const t = await setScene({ personalAccessTokens: true });
    const passkey = await enrol(t);
    const thief = t.newVisitor('203.0.113.9');
    if (flags === undefined)
      await thief.submit(await thief.open('/login?to=account'), { email: EMAIL, password: PASSWORD });
    else await signInBy(thief, passkey, flags);
    return { t, thief, passkey };
  }

  const WITHOUT_CODES: readonly Change[] = [
    ...CHANGES.filter(({ action }) => !['/account/codes/off', '/account/codes/recovery'].includes(action)),
    {
      name: 'creating a personal access token',
      page: '/connections/new-token',
      action: '/connections/new-token',
      done: async (_owner, { html }) => html.includes('name="days"'),
    },
  ];

  /** Shows the page of a change that asks for a credential. */
  const ask = async (visitor: Visitor, { page, action, fields }: Change) =>
    visitor.submit(await visitor.open(page), { ...fields }, action);

  it.each(WITHOUT_CODES)('$name needs more than the password with which it began', async (change) => {
    const owner = { ...(await setUpOne()), secret: '', recovery: [] };
    const { t, thief, passkey } = owner;
    const before = t.snapshot();
    const asked = await ask(thief, change);
    expect(asked.html).not.toContain('name="password"');
    expect(textOf(asked)).toContain('Lost your passkey?');
    const refused = await thief.submit(asked, { password: PASSWORD });
    expect([await change.done(owner, refused), t.snapshot()]).toEqual([false, before]);
    // The owner, who may have signed in with the password as well, has the passkey.
    const credential = passkey.answer(challengeOf(refused), { flags: USER_PRESENT });
    expect(await change.done(owner, await thief.submit(refused, { credential }))).toBe(true);
  });

  it.each(WITHOUT_CODES)('$name needs more than the security key with which it began', async (change) => {
    const owner = { ...(await setUpOne(USER_PRESENT)), secret: '', recovery: [] };
    const { t, thief, passkey } = owner;
    const asked = await ask(thief, change);
    const accounts = () => Promise.all([t.store.listPasskeys(ACCOUNT), t.store.findTotpFactor(ACCOUNT)]);
    const before = await accounts();
    const credential = passkey.answer(challengeOf(asked), { flags: USER_PRESENT });
    const refused = await thief.submit(asked, { credential });
    expect([refused.status, await change.done(owner, refused), await accounts()]).toEqual([
      400,
      false,
      before,
    ]);
    expect(await change.done(owner, await thief.submit(refused, { password: PASSWORD }))).toBe(true);
  });

  it.each(WITHOUT_CODES)('$name is confirmed by a passkey that verifies its user', async (change) => {
    const owner = { ...(await setUpOne(USER_PRESENT)), secret: '', recovery: [] };
    const { thief, passkey } = owner;
    const asked = await ask(thief, change);
    const credential = passkey.answer(challengeOf(asked));
    expect(await change.done(owner, await thief.submit(asked, { credential }))).toBe(true);
  });

  it('which began before an authenticator app was set up needs its code', async () => {
    const { t, secret } = await setUp();
    const thief = t.newVisitor('203.0.113.9');
    const factor = await t.store.findTotpFactor(ACCOUNT);
    await t.store.removeTotpFactor(ACCOUNT);
    await t.store.removePasskey(ACCOUNT, Buffer.from('credential of ada').toString('base64url'));
    await thief.submit(await thief.open('/login?to=account'), { email: EMAIL, password: PASSWORD });
    if (factor !== null)
      await inSession(t.store, ACCOUNT, (session) => t.store.saveTotpFactor(factor, [], session));
    const asked = await thief.open('/account/passkeys/add');
    const before = t.snapshot();
    const refused = await thief.submit(asked, { password: PASSWORD });
    expect([refused.html.includes('data-passkey="create"'), t.snapshot()]).toEqual([false, before]);
    const confirmed = await thief.submit(refused, { code: codeOf(secret, t.clock.now) });
    expect(confirmed.html).toContain('data-passkey="create"');
  });

  it('confirms by its password where passkeys are not available', async () => {
    const resources = RESOURCES.map(({ introspectionClients: _, ...resource }) => resource);
    const t = await setScene({ issuer: 'http://127.0.0.1:8484', resources });
    await enrol(t);
    await t.visitor.submit(await t.visitor.open('/login?to=account'), { email: EMAIL, password: PASSWORD });
    const asked = await t.visitor.open('/account/codes');
    expect(secretOn(await t.visitor.submit(asked, { password: 'not the password' }))).toBe('');
    expect(secretOn(await t.visitor.submit(asked, { password: PASSWORD }))).not.toBe('');
  });

  it('loses what its password confirmed before there was a passkey', async () => {
    const t = await setScene({ personalAccessTokens: true });
    const path = '/connections/new-token';
    const choice = { name: 'CI', resource: NOTES, days: '30', [permissionField(NOTES, 'notes:read')]: 'yes' };
    await t.visitor.submit(await t.visitor.open('/login?to=account'), { email: EMAIL, password: PASSWORD });
    const confirmed = async () => t.visitor.submit(await t.visitor.open(path), { password: PASSWORD });
    const [first, second] = [await confirmed(), await confirmed()];
    expect((await t.visitor.submit(first, choice, path)).html).toContain('portcullis_pat_');
    const passkey = await enrol(t);
    const before = t.snapshot();
    const refused = await t.visitor.submit(second, choice, path);
    expect([refused.html.includes('portcullis_pat_'), t.snapshot()]).toEqual([false, before]);
    const again = await t.visitor.submit(refused, { credential: passkey.answer(challengeOf(refused)) });
    expect((await t.visitor.submit(again, choice, path)).html).toContain('portcullis_pat_');
  });
});
