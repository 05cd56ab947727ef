/** Passkeys against forgery, with a software authenticator that can lie. */
import { describe, expect, it } from 'vitest';
import { inSession, newSession } from '../../store/testing/samples.ts';
import { hashSecret } from '../src/secrets.ts';
import { createServerContext } from '../src/server.ts';
import { createPasskeys } from '../src/users/passkeys.ts';
import {
  challengeOf,
  createPasskey,
  enrol,
  type Lies,
  USER_PRESENT,
  USER_VERIFIED,
} from './authenticator.ts';
import { ACCOUNT, MASTER_KEY, RESOURCES } from './server-under-test.ts';
import { EMAIL, PASSWORD, type Sight, setScene, textOf, type Visitor } from './visitor.ts';

async function use(visitor: Visitor, login: Sight, credential: string): Promise<Sight> {
  return visitor.submit(login, { credential }, '/login/passkey');
}

/** The page that asks the browser for a new passkey. */
async function openRegistration(visitor: Visitor): Promise<Sight> {
  await visitor.submit(
    await visitor.open('/login?to=account'),
    { email: EMAIL, password: PASSWORD },
    '/login',
  );
  return visitor.submit(await visitor.open('/account/passkeys/add'), { password: PASSWORD });
}

/** An attestation whose statement names one certificate, which is none. */
function attestationOf(format: string): Buffer {
  const fmt = `\x63fmt${String.fromCharCode(0x60 + format.length)}${format}`;
  return Buffer.from(`${fmt}\x67attStmt\xa1\x63x5c\x81\x41\x00`, 'latin1');
}

describe('a passkey', () => {
  it('a passkey logs in and is marked as used, and its challenge works once', async () => {
    const t = await setScene();
    const { id, answer } = await enrol(t);
    const login = await t.visitor.open('/login');
    const credential = answer(challengeOf(login));
    expect((await use(t.visitor, login, credential)).path).toBe('/connections');
    expect((await t.store.findPasskey(id))?.lastUsedAt).toBe(t.clock.now);

    await t.visitor.submit(await t.visitor.open('/account'), {}, '/logout');
    const before = t.snapshot();
    const replay = await use(t.visitor, login, credential);
    expect([replay.status, textOf(replay)]).toEqual([
      400,
      expect.stringContaining('This passkey does not work here.'),
    ]);
    expect(t.snapshot()).toBe(before);
  });

  it('a challenge that a process of an earlier version accepted is not accepted again', async () => {
    const t = await setScene();
    const { answer } = await enrol(t);
    const login = await t.visitor.open('/login');
    const challenge = challengeOf(login);
    await t.store.consumeClientAssertion(hashSecret(`passkey ${challenge}`), t.clock.now + 600);
    const before = t.snapshot();
    expect((await use(t.visitor, login, answer(challenge))).status).toBe(400);
    expect(t.snapshot()).toBe(before);
    const fresh = await t.visitor.open('/login');
    expect((await use(t.visitor, fresh, answer(challengeOf(fresh)))).path).toBe('/connections');
  });

  it.each<readonly [string, Lies]>([
    ['of another site', { origin: 'https://as.example.evil.test' }],
    ['of another port', { origin: 'https://as.example:8443' }],
    ['for another host', { host: 'evil.test' }],
    ['with another challenge', { challenge: Buffer.alloc(54).toString('base64url') }],
    ['without a challenge', { challenge: '' }],
    ['of a registration', { type: 'webauthn.create' }],
    ['without user presence', { flags: USER_VERIFIED }],
    ['of another user', { userHandle: Buffer.from('user_eve').toString('base64url') }],
    ['that does not say whose it is', { userHandle: null }],
    ['with an unknown passkey', { id: 'unknown' }],
    ['with a damaged signature', { damage: true }],
  ])('a passkey response with %s is rejected, and a valid one still works', async (_what, lies) => {
    const t = await setScene();
    const { answer } = await enrol(t);
    const login = await t.visitor.open('/login');
    const challenge = challengeOf(login);
    const before = t.snapshot();
    const refused = await use(t.visitor, login, answer(challenge, lies));
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([400, []]);
    expect(t.snapshot()).toBe(before);
    expect((await use(t.visitor, login, answer(challenge))).path).toBe('/connections');
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"id":"x"}',
    '{"id":"x","response":null}',
    `{"id":"${'x'.repeat(20_000)}"}`,
  ])('a malformed passkey response is rejected: %.20s', async (credential) => {
    const t = await setScene();
    await enrol(t);
    const login = await t.visitor.open('/login');
    const before = t.snapshot();
    expect((await use(t.visitor, login, credential)).status).toBe(400);
    expect(t.snapshot()).toBe(before);
  });

  it.each<readonly [string, Lies]>([
    ['of another site', { origin: 'https://as.example.evil.test' }],
    ['for another host', { host: 'evil.test' }],
    ['with another challenge', { challenge: Buffer.alloc(54).toString('base64url') }],
    ['of a sign-in', { type: 'webauthn.get' }],
    ['without user presence', { flags: USER_VERIFIED }],
    ['that is not CBOR', { attestation: Buffer.from('fmt') }],
    ['with a transport that is no list', { transports: 'usb' }],
    ['with a number of transports', { transports: 5 }],
    ['with transports that only have a length', { transports: { length: 1 } }],
    ['with a transport that is no text', { transports: ['usb', null] }],
  ])('a passkey registration %s is rejected, and a valid one still works', async (_what, lies) => {
    const t = await setScene();
    const page = await openRegistration(t.visitor);
    const { id, register } = createPasskey();
    const challenge = challengeOf(page);
    const before = t.snapshot();
    const refused = await t.visitor.submit(page, { credential: register(challenge, lies) });
    expect([refused.status, t.snapshot()]).toEqual([400, before]);
    await t.visitor.submit(page, { credential: register(challenge) });
    expect(await t.store.listPasskeys(ACCOUNT)).toMatchObject([{ id }]);
  });

  // To verify such a statement, the library would fetch revocation lists that its certificates name.
  it.each(['packed', 'fido-u2f', 'tpm', 'apple', 'android-key', 'android-safetynet', 'compound', 'none'])(
    'T048: a passkey with an attestation statement of format %s is registered, and nothing reads the statement',
    async (format) => {
      const t = await setScene();
      const page = await openRegistration(t.visitor);
      const { register, answer } = createPasskey();
      const credential = register(challengeOf(page), { attestation: attestationOf(format) });
      const added = await t.visitor.submit(page, { credential });
      expect(added.path).toBe('/account?news=passkey-added');
      const visitor = t.newVisitor();
      const login = await visitor.open('/login');
      expect((await use(visitor, login, answer(challengeOf(login)))).path).toBe('/connections');
    },
  );

  it('a passkey response to the challenge of another browser, or to an expired one, is rejected', async () => {
    const t = await setScene();
    const { answer } = await enrol(t);
    const thief = t.newVisitor();
    const theirs = await thief.open('/login');
    const login = await t.visitor.open('/login');
    expect((await use(t.visitor, login, answer(challengeOf(theirs)))).status).toBe(400);
    t.clock.now += 600;
    expect((await use(t.visitor, login, answer(challengeOf(login)))).status).toBe(400);
    const fresh = await t.visitor.open('/login');
    expect((await use(t.visitor, fresh, answer(challengeOf(fresh)))).path).toBe('/connections');
  });

  it('a cloned passkey is rejected as soon as its signature counter does not increase', async () => {
    const t = await setScene();
    const { answer } = await enrol(t, 7);
    for (const [counter, status] of [
      [7, 400],
      [6, 400],
      [0, 400],
      [8, 200],
    ] as const) {
      const visitor = t.newVisitor();
      const login = await visitor.open('/login');
      expect([counter, (await use(visitor, login, answer(challengeOf(login), { counter }))).status]).toEqual([
        counter,
        status,
      ]);
    }
    expect(t.events.filter(({ type }) => type === 'passkey.clone_detected')).toHaveLength(3);
  });

  it('the sign-in after the two-hundredth session of an account ends the oldest one', async () => {
    const t = await setScene();
    const { answer } = await enrol(t);
    const { passwordHash } = (await t.store.findAccount(ACCOUNT)) ?? { passwordHash: '' };
    const sessions = Array.from({ length: 200 }, (_, index) =>
      newSession(ACCOUNT, { createdAt: t.clock.now - 1000 + index, expiresAt: t.clock.now + 1000 }),
    );
    for (const session of sessions) await t.store.saveSession(session, passwordHash);
    const login = await t.visitor.open('/login');
    await use(t.visitor, login, answer(challengeOf(login)));
    const left = await t.store.listSessions(ACCOUNT, t.clock.now);
    expect(left.slice(1)).toEqual(sessions.slice(1).toReversed());
    expect((await t.visitor.open('/account')).status).toBe(200);
  });

  it('T075: sign-ins by passkey to one account from one network are limited, and those of others are not', async () => {
    const t = await setScene({ rateLimits: { signIns: { burst: 2, perMinute: 1 } } });
    const { answer } = await enrol(t);
    const signIn = async (address: string) => {
      const visitor = t.newVisitor(address);
      const login = await visitor.open('/login');
      return use(visitor, login, answer(challengeOf(login)));
    };
    for (let count = 0; count < 2; count++) expect((await signIn('192.0.2.9')).path).toBe('/connections');
    const refused = await signIn('192.0.2.9');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await t.store.listSessions(ACCOUNT, t.clock.now)).toHaveLength(2);
    expect((await signIn('192.0.2.10')).path).toBe('/connections');
    t.clock.now += 60;
    expect((await signIn('192.0.2.9')).path).toBe('/connections');
  });

  it('T017: a passkey without user verification counts as one factor', async () => {
    const t = await setScene();
    const { answer } = await enrol(t);
    const factor = { accountId: ACCOUNT, encryptedSecret: 'x', lastStep: 0, createdAt: 0 };
    await inSession(t.store, ACCOUNT, (session) => t.store.saveTotpFactor(factor, [], session));
    const login = await t.visitor.open('/login');
    const half = await use(t.visitor, login, answer(challengeOf(login), { flags: USER_PRESENT }));
    expect([textOf(half), await t.store.listSessions(ACCOUNT, t.clock.now)]).toEqual([
      expect.stringContaining('Enter your code'),
      [],
    ]);
    const again = await t.visitor.open('/login');
    expect((await use(t.visitor, again, answer(challengeOf(again)))).path).toBe('/connections');
  });

  it('a passkey of a disabled account does not log in', async () => {
    const t = await setScene();
    const { answer } = await enrol(t);
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    const login = await t.visitor.open('/login');
    expect((await use(t.visitor, login, answer(challengeOf(login)))).status).toBe(400);
    await t.store.enableAccount(ACCOUNT);
    expect((await use(t.visitor, login, answer(challengeOf(login)))).path).toBe('/connections');
  });

  it.each([
    ['http://127.0.0.1:8484', false],
    ['http://[::1]:8484', false],
    ['http://localhost:8484', true],
    ['https://as.example', true],
  ])('passkeys are available at issuer %s: %s', async (issuer, can) => {
    const { store } = await setScene();
    const resources = RESOURCES.map(({ introspectionClients: _, ...resource }) => resource);
    const context = createServerContext({ issuer, store, masterKey: MASTER_KEY, resources });
    expect(createPasskeys(context) !== null).toBe(can);
  });
});
