/** MFA: TOTP by RFC 6238, the second step of a login, recovery codes. */
import { describe, expect, it } from 'vitest';
import {
  type AuthorizationServerOptions,
  createAuthorizationServer,
  createKeyAdministration,
} from '../src/index.ts';
import { base32, findTotpStep, hotp } from '../src/users/totp.ts';
import { enrol } from './authenticator.ts';
import { codeOf, recoveryCodesOn, secretOn } from './code-app.ts';
import { ACCOUNT, CLIENTS, ISSUER, MASTER_KEY, RESOURCES } from './server-under-test.ts';
import {
  createVisitor,
  EMAIL,
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  type Visitor,
} from './visitor.ts';

const ascii = (text: string) => Buffer.from(text, 'ascii');

describe('TOTP', () => {
  it.each([
    [59, '94287082'], [1_111_111_109, '07081804'], [1_111_111_111, '14050471'], [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'], [20_000_000_000, '65353130'],
  ])('TOTP matches the test vectors of RFC 6238 appendix B: %i seconds', (time, code) => {
    expect(hotp(ascii('12345678901234567890'), Math.floor(time / 30), 8)).toBe(code);
  }); // biome-ignore format: a table

  it.each(
    ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'].map(
      (code, counter) => [counter, code] as const,
    ),
  )('HOTP matches the test vectors of RFC 4226 appendix D: counter %i', (counter, code) => {
    expect(hotp(ascii('12345678901234567890'), counter)).toBe(code);
  });

  it.each([
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ])('base32 matches the test vectors of RFC 4648 §10: %j', (text, expected) => {
    expect(base32(ascii(text))).toBe(expected);
  });

  it('TOTP accepts clocks that are one time step off, and no more', () => {
    const secret = ascii('12345678901234567890');
    const now = 1_800_000_000;
    const step = now / 30;
    for (const off of [-1, 0, 1])
      expect(findTotpStep(secret, hotp(secret, step + off), now)).toBe(step + off);
    for (const off of [-2, 2]) expect(findTotpStep(secret, hotp(secret, step + off), now)).toBeNull();
    for (const code of ['', '12345', 'abcdef']) expect(findTotpStep(secret, code, now)).toBeNull();
  });
});

async function firstStep(visitor: Visitor, path = '/login'): Promise<Sight> {
  return visitor.submit(await visitor.open(path), { email: EMAIL, password: PASSWORD });
}

interface SetUp {
  readonly secret: string;
  readonly recovery: readonly string[];
}

/** The page that sets up TOTP, after its confirmation by password. */
async function openSetup(visitor: Visitor): Promise<Sight> {
  return visitor.submit(await visitor.open('/account/codes'), { password: PASSWORD });
}

/** Ada enables MFA, and a minute passes. */
async function switchOn(t: Scene): Promise<SetUp> {
  await firstStep(t.visitor);
  const page = await openSetup(t.visitor);
  const secret = secretOn(page);
  expect(page.html).toContain('<svg class="picture"');
  const codes = await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) });
  const recovery = recoveryCodesOn(codes);
  // They are shown once: what leads away and back is left out.
  expect([page, codes].map(({ html }) => html.includes('hreflang='))).toEqual([true, false]);
  expect([codes.status, recovery.length, new Set(recovery).size]).toEqual([200, 10, 10]);
  const file = /href="data:text\/plain;charset=utf-8,([^"]+)" download="recovery-codes\.txt"/.exec(
    codes.html,
  )?.[1];
  expect(decodeURIComponent(file ?? '')).toBe(`${recovery.join('\n')}\n`);
  t.clock.now += 60;
  return { secret, recovery };
}

describe('enabling MFA', () => {
  it('leads an operator to the console by a new sign-in, although the first one is recent', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const again = '/login?to=console&again=yes';
    expect((await t.visitor.open('/login?to=account&again=yes')).path).toBe('/account');
    const page = await t.visitor.open(again);
    expect([page.path, textOf(page)]).toEqual([
      again,
      expect.stringContaining('Sign in again, with your second factor, to administer this installation'),
    ]);
    expect(page.html).toMatch(new RegExp(`<input[^>]+name="email"[^>]+value="${EMAIL}"`));
    const code = { code: codeOf(secret, t.clock.now) };
    const second = await t.visitor.submit(page, { email: EMAIL, password: PASSWORD });
    expect((await t.visitor.submit(second, code)).path).toBe('/admin');
    expect((await t.visitor.open(again)).path).toBe('/admin');
  });

  it('MFA is enabled by a valid code; the secret is stored encrypted and recovery codes hashed', async () => {
    const t = await setScene();
    const { secret, recovery } = await switchOn(t);
    const stored = t.snapshot();
    for (const text of [secret, ...recovery]) expect(stored).not.toContain(text);
    expect(textOf(await t.visitor.open('/account'))).toContain('On. Recovery codes left: 10.');
    expect(t.events).toContainEqual({
      type: 'second_factor.enabled',
      accountId: ACCOUNT,
      network: '192.0.2.1',
    });
  });

  it.each(['門', '🚪'])(
    'MFA is enabled at a server with a long name of %s, which fits into no QR code',
    async (name) => {
      const t = await setScene({ name: name.repeat(300) });
      const { secret } = await switchOn(t);
      expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    },
  );

  it('a set-up form that is sent twice keeps the recovery codes of the first time', async () => {
    const t = await setScene();
    await firstStep(t.visitor);
    const page = await openSetup(t.visitor);
    const code = codeOf(secretOn(page), t.clock.now);
    expect(recoveryCodesOn(await t.visitor.submit(page, { code }))).toHaveLength(10);
    const before = t.snapshot();
    const repeated = await t.visitor.submit(page, { code });
    expect([repeated.path, recoveryCodesOn(repeated), t.snapshot()]).toEqual(['/account', [], before]);
  });

  it('a set-up form does not enable MFA again after it was disabled', async () => {
    const t = await setScene();
    await firstStep(t.visitor);
    const page = await openSetup(t.visitor);
    const secret = secretOn(page);
    expect(recoveryCodesOn(await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) }))).toHaveLength(
      10,
    );
    await t.store.removeTotpFactor(ACCOUNT);
    t.clock.now += 60;
    const before = t.snapshot();
    const replayed = await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) });
    expect([recoveryCodesOn(replayed), t.snapshot()]).toEqual([[], before]);
    // It asks for the password, as for a set-up of its own, which succeeds.
    const next = await t.visitor.submit(replayed, { password: PASSWORD });
    const again = await t.visitor.submit(next, { code: codeOf(secretOn(next), t.clock.now) });
    expect(recoveryCodesOn(again)).toHaveLength(10);
  });

  it('MFA is not enabled by a wrong code, the secret of another account, or a login that is not recent', async () => {
    const t = await setScene();
    await firstStep(t.visitor);
    const page = await openSetup(t.visitor);
    const secret = secretOn(page);
    const before = t.snapshot();
    for (const fields of [
      { code: '000000' },
      { code: '' },
      { code: codeOf(secret, t.clock.now), encrypted_secret: 'x' },
      { code: codeOf(secret, t.clock.now - 90) },
    ]) {
      expect((await t.visitor.submit(page, fields)).status).toBe(400);
    }
    t.clock.now += 900;
    const late = await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) });
    expect([late.path, t.snapshot()]).toEqual(['/login?to=account&again=yes', before]);
    const again = await t.visitor.submit(late, { email: EMAIL, password: PASSWORD });
    expect(again.path).toBe('/account');
  });

  it('MFA can be disabled', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const page = await t.visitor.submit(await t.visitor.open('/account'), {}, '/account/codes/off');
    const code = codeOf(secret, t.clock.now);
    expect((await t.visitor.submit(page, { token: 'x', code })).status).toBe(403);
    expect(textOf(await t.visitor.submit(page, { code }))).toContain('Two-step verification is off.');
    expect((await firstStep(t.newVisitor())).path).toBe('/connections');
  });
});

describe('new recovery codes', () => {
  it('new recovery codes replace the old ones without a new set-up', async () => {
    const t = await setScene();
    const { secret, recovery } = await switchOn(t);
    const page = await t.visitor.open('/account/codes/recovery');
    const shown = await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) });
    const fresh = recoveryCodesOn(shown);
    expect([shown.status, new Set([...fresh, ...recovery]).size]).toEqual([200, 20]);
    expect(t.snapshot()).not.toContain(fresh[0]);
    const visitor = t.newVisitor();
    const half = await firstStep(visitor);
    expect((await visitor.submit(half, { code: recovery[0] })).status).toBe(400);
    expect((await visitor.submit(half, { code: fresh[0] })).path).toBe('/connections');
    t.clock.now += 30;
    const other = t.newVisitor('198.51.100.9');
    const code = codeOf(secret, t.clock.now);
    expect((await other.submit(await firstStep(other), { code })).path).toBe('/connections');
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'second_factor.recovery_codes_renewed', accountId: ACCOUNT }),
    );
  });

  it('new recovery codes are not shown for a wrong code, a forged form, or without MFA', async () => {
    const t = await setScene();
    const { secret, recovery } = await switchOn(t);
    const page = await t.visitor.open('/account/codes/recovery');
    const before = t.snapshot();
    expect((await t.visitor.submit(page, { code: '000000' })).status).toBe(400);
    expect((await t.visitor.submit(page, { code: codeOf(secret, t.clock.now), token: 'x' })).status).toBe(
      403,
    );
    expect(t.snapshot()).toBe(before);
    expect(recoveryCodesOn(await t.visitor.submit(page, { code: recovery[1] }))).toHaveLength(10);
    const code = codeOf(secret, t.clock.now);
    await t.visitor.submit(await t.visitor.open('/account'), { code }, '/account/codes/off');
    expect((await t.visitor.open('/account/codes/recovery')).path).toBe('/account');
    expect((await t.visitor.submit(page, { code: recovery[2] })).status).toBe(400);
  });

  it('T075: guessing codes to get new recovery codes is throttled', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const page = await t.visitor.open('/account/codes/recovery');
    for (let n = 0; n < 5; n++) {
      expect((await t.visitor.submit(page, { code: `00000${n}` })).status).toBe(400);
    }
    const held = await t.visitor.submit(page, { code: codeOf(secret, t.clock.now) });
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '15']);
  });
});

describe('the second step of a login', () => {
  it('T017: a login without its second factor gets neither session nor authorization code', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const visitor = t.newVisitor();
    const sessions = await t.store.listSessions(ACCOUNT, t.clock.now);
    const login = await visitor.open(requestOf());
    const before = t.snapshot();
    const half = await visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect([half.status, textOf(half), half.headers.getSetCookie()]).toEqual([
      200,
      expect.stringContaining('Enter your code'),
      [],
    ]);
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toEqual(sessions);
    const flow = /name="flow" value="([^"]+)"/.exec(half.html)?.[1];
    expect((await visitor.open(`/consent?flow=${flow}`)).path).toMatch(/^\/login/);
    expect((await visitor.open('/connections')).path).toMatch(/^\/login/);
    expect((await visitor.submit(half, { flow, decision: 'allow' }, '/consent')).left).toBeNull();

    const wrong = await visitor.submit(half, { code: '000000' });
    expect([wrong.status, textOf(wrong)]).toEqual([400, expect.stringContaining('This code is wrong')]);
    expect(t.snapshot()).toBe(before);
    const right = await visitor.submit(wrong, {
      code: ` ${codeOf(secret, t.clock.now).replace(/^.../, '$& ')}`,
    });
    expect(right.path).toMatch(/^\/consent/);
    expect((await visitor.submit(right, { decision: 'allow' })).left?.searchParams.has('code')).toBe(true);
  });

  it('T075: a device cookie lets the owner log in while an attacker with the password guesses codes', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const thief = t.newVisitor();
    const half = await firstStep(thief);
    const from = (address: string, { cookies }: Visitor) => {
      const moved = t.newVisitor(address);
      for (const [name, value] of cookies) moved.cookies.set(name, value);
      return moved;
    };
    for (let n = 0; n < 30; n++) {
      const guess = await from(`192.0.2.${100 + n}`, thief).submit(half, { code: '000000' });
      expect(guess.status).toBe(400);
    }
    const code = codeOf(secret, t.clock.now);
    const before = t.snapshot();
    const held = await from('192.0.2.200', thief).submit(half, { code });
    expect([held.status, held.headers.get('retry-after'), held.headers.getSetCookie()]).toEqual([
      429,
      '15',
      [],
    ]);
    expect(t.snapshot()).toBe(before);
    t.visitor.cookies.delete('__Host-portcullis-session');
    const owner = from('192.0.2.200', t.visitor);
    expect((await owner.submit(await firstStep(owner), { code })).path).toBe('/connections');
  });

  it('a TOTP code is accepted once, and no older one after it', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const code = codeOf(secret, t.clock.now);
    const previous = codeOf(secret, t.clock.now - 30);
    const [first, second] = [t.newVisitor('198.51.100.1'), t.newVisitor('198.51.100.2')];
    expect((await first.submit(await firstStep(first), { code })).path).toBe('/connections');
    const half = await firstStep(second);
    for (const old of [code, previous]) expect((await second.submit(half, { code: old })).status).toBe(400);
    t.clock.now += 30;
    expect((await second.submit(half, { code: codeOf(secret, t.clock.now) })).path).toBe('/connections');
  });

  it('each recovery code is accepted once, however it is typed', async () => {
    const t = await setScene();
    const {
      recovery: [code = ''],
    } = await switchOn(t);
    const visitor = t.newVisitor();
    const half = await firstStep(visitor);
    expect((await visitor.submit(half, { code: code.toLowerCase().replaceAll('-', ' ') })).path).toBe(
      '/connections',
    );
    const other = t.newVisitor('198.51.100.9');
    expect((await other.submit(await firstStep(other), { code })).status).toBe(400);
    expect(textOf(await visitor.open('/account'))).toContain('Recovery codes left: 9');
  });

  it('T075: guessing TOTP codes is throttled, and the page says for how long', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const thief = t.newVisitor();
    const half = await firstStep(thief);
    for (let n = 0; n < 5; n++) expect((await thief.submit(half, { code: `00000${n}` })).status).toBe(400);
    const sight = await thief.submit(half, { code: codeOf(secret, t.clock.now) });
    expect([sight.status, sight.headers.get('retry-after')]).toEqual([429, '15']);
    t.clock.now += 15;
    expect((await thief.submit(half, { code: codeOf(secret, t.clock.now) })).path).toBe('/connections');
  });

  it('the MFA form is bound to browser, account and login target, and valid for five minutes', async () => {
    const t = await setScene();
    const { secret } = await switchOn(t);
    const visitor = t.newVisitor();
    const half = await firstStep(visitor);
    const code = codeOf(secret, t.clock.now);
    const before = t.snapshot();
    const thief = t.newVisitor('203.0.113.5');
    await thief.open('/login');
    for (const attempt of [
      () => thief.submit(half, { code }),
      () => visitor.submit(half, { code, account: 'user_other' }),
      () => visitor.submit(half, { code, until: String(t.clock.now + 9000) }),
      () => visitor.submit(half, { code, token: undefined }),
    ]) {
      expect((await attempt()).status).toBe(403);
      expect(t.snapshot()).toBe(before);
    }
    t.clock.now += 300;
    expect((await visitor.submit(half, { code: codeOf(secret, t.clock.now) })).status).toBe(403);
    const again = await firstStep(visitor);
    expect((await visitor.submit(again, { code: codeOf(secret, t.clock.now) })).path).toBe('/connections');
  });

  it('a set-up form does not enable MFA after a reset that completes before it is stored', async () => {
    const t = await setScene();
    const thief = t.newVisitor();
    await firstStep(thief);
    const setUp = await thief.submit(await thief.open('/account/codes'), { password: PASSWORD });
    const answer = await t.server.accounts.reset(EMAIL);
    const { pathname, search } = new URL('link' in answer ? answer.link : '');
    const password = 'a bridge of rope and planks';
    const reset = await t.visitor.open(`${pathname}${search}`);
    const { saveTotpFactor } = t.store;
    t.store.saveTotpFactor = async (...factor) => {
      await t.visitor.submit(reset, { password, password_again: password });
      return saveTotpFactor(...factor);
    };
    const sight = await thief.submit(setUp, { code: codeOf(secretOn(setUp), t.clock.now) });
    expect(recoveryCodesOn(sight)).toEqual([]);
    expect(await t.store.findTotpFactor(ACCOUNT)).toBe(null);
    expect(t.events.map(({ type }) => type)).not.toContain('second_factor.enabled');
    expect((await thief.open('/account')).path).toBe('/login?to=account');
    const owner = t.newVisitor();
    expect((await owner.submit(await owner.open('/login'), { email: EMAIL, password })).path).toBe(
      '/connections',
    );
  });

  it('a reset disables MFA and removes passkeys, each with its event', async () => {
    const t = await setScene();
    await switchOn(t);
    const answer = await t.server.accounts.reset(EMAIL);
    const { pathname, search } = new URL('link' in answer ? answer.link : '');
    const password = 'a bridge of rope and planks';
    const passkey = await enrol(t);
    t.events.length = 0;
    await t.visitor.submit(await t.visitor.open(`${pathname}${search}`), {
      password,
      password_again: password,
    });
    expect(t.events.slice(0, 3)).toMatchObject([
      { type: 'account.link_used', accountId: ACCOUNT, purpose: 'reset' },
      { type: 'second_factor.disabled', accountId: ACCOUNT },
      { type: 'passkey.removed', accountId: ACCOUNT, passkeyId: passkey.id },
    ]);
    const visitor = t.newVisitor();
    expect((await visitor.submit(await visitor.open('/login'), { email: EMAIL, password })).path).toBe(
      '/connections',
    );
  });

  it('MFA works after a change of the master key, re-encrypted or with the previous key', async () => {
    const t = await setScene();
    const { secret, recovery } = await switchOn(t);
    const next = new Uint8Array(32).fill(9);
    const enter = async (more: Partial<AuthorizationServerOptions>, code: string) => {
      const options = {
        issuer: ISSUER,
        store: t.store,
        resources: RESOURCES,
        clients: CLIENTS,
        clock: () => t.clock.now,
      };
      const server = await createAuthorizationServer({ ...options, masterKey: MASTER_KEY, ...more });
      const visitor = createVisitor(server, '198.51.100.7');
      const sight = await visitor.submit(await firstStep(visitor), { code });
      t.clock.now += 60;
      return sight.path;
    };
    const beside = { masterKey: next, previousMasterKeys: [MASTER_KEY] };
    expect(await enter(beside, codeOf(secret, t.clock.now))).toBe('/connections');
    const keys = createKeyAdministration({ store: t.store, masterKey: MASTER_KEY });
    for (const _ of ['once', 'and again']) await keys.reencrypt(next);
    expect(await enter({ masterKey: next }, codeOf(secret, t.clock.now))).toBe('/connections');
    // A process with the old master key cannot decrypt the secret and says so, but recovery codes still work.
    const late = t.newVisitor();
    const half = await firstStep(late);
    const before = t.snapshot();
    for (let times = 0; times < 8; times += 1) {
      const { status, headers } = await late.submit(half, { code: codeOf(secret, t.clock.now) });
      expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    }
    expect(t.snapshot()).toBe(before);
    expect((await late.submit(await firstStep(late), { code: recovery[0] })).path).toBe('/connections');
  });
});
