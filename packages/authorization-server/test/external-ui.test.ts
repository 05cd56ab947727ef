/** The external UI: an operator’s application shows sign-in and consent, and cannot decide for another browser. */
import { describe, expect, it } from 'vitest';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
  createKeyAdministration,
} from '../src/index.ts';
import { SECRET, type Signed, signatureOf } from './external-ui-application.ts';
import {
  ACCOUNT,
  CALLBACK,
  CLIENTS,
  ISSUER,
  MASTER_KEY,
  RESOURCES,
  redemption,
} from './server-under-test.ts';
import {
  createVisitor,
  EMAIL,
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  VERIFIER,
  type Visitor,
} from './visitor.ts';

const loginUrl = 'https://shop.example/sign-in?from=portcullis';
const consentUrl = 'https://shop.example/consent';
const both = { loginUrl, consentUrl, secrets: [SECRET] };

type Answer = { readonly status: number; readonly body: Record<string, unknown>; readonly headers: Headers };

interface Stage extends Scene {
  /** Sends a signed request of the application. */
  call(path: string, members: unknown, signed?: Partial<Signed>): Promise<Answer>;
  /** The same, which must return where to send the browser: a path of this server. */
  conclude(path: string, members: unknown): Promise<string>;
}

async function stage(
  headless: AuthorizationServerOptions['externalUi'] = both,
  options: Partial<AuthorizationServerOptions> = {},
): Promise<Stage> {
  const t = await setScene({ ...(headless !== undefined && { externalUi: headless }), ...options });
  const call: Stage['call'] = async (path, members, signed = {}) => {
    const body = typeof members === 'string' ? members : JSON.stringify(members);
    const signature = signatureOf({ issuer: ISSUER, path, body, at: t.clock.now, ...signed });
    const headers = { 'content-type': 'application/json', 'portcullis-signature': signature };
    return t.send(path, { method: 'POST', headers, body });
  };
  const conclude: Stage['conclude'] = async (path, members) => {
    const { status, body } = await call(path, members);
    expect([status, Object.keys(body)]).toEqual([200, ['continue']]);
    const url = new URL(String(body['continue']));
    expect([url.origin, url.pathname]).toEqual([ISSUER, '/headless/continue']);
    return url.pathname + url.search;
  };
  return { ...t, call, conclude };
}

/** The challenge with which the browser was redirected to the application. */
function challengeOf({ left }: Sight, page: string): string {
  const challenge = left?.searchParams.get('challenge') ?? '';
  const expected = new URL(page);
  expected.searchParams.set('challenge', challenge);
  expect(left?.href).toBe(expected.href);
  return challenge;
}

/** Signs the visitor in at the application; returns the next page. */
async function signIn(t: Stage, visitor: Visitor, path: string, more: object = {}): Promise<Sight> {
  const challenge = challengeOf(await visitor.open(path), loginUrl);
  return visitor.open(await t.conclude('/headless/accept', { challenge, email: EMAIL, ...more }));
}

const wanted = requestOf({ scope: 'notes:read notes:write' });

describe('an external UI', () => {
  it('an external UI shows sign-in and consent, from the request to the token', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const asked = await t.call('/headless/ask', { challenge });
    expect(asked.body).toEqual({
      kind: 'login',
      expires_at: t.clock.now + 600,
      language: 'en',
      fresh: false,
      page: null,
      app: { client_id: 'web', name: 'web', verified_by: 'operator', host: null },
      return_to: { kind: 'https', display: 'app.example', elsewhere: false },
    });

    const back = await t.conclude('/headless/accept', { challenge, email: 'ADA@example.org ' });
    const consent = challengeOf(await t.visitor.open(back), consentUrl);
    expect((await t.call('/headless/ask', { challenge: consent })).body).toEqual({
      kind: 'consent',
      expires_at: t.clock.now + 600,
      language: 'en',
      account: { id: ACCOUNT, email: EMAIL },
      app: { client_id: 'web', name: 'web', verified_by: 'operator', host: null },
      return_to: { kind: 'https', display: 'app.example', elsewhere: false },
      warning: null,
      server: { name: 'Notes', place: 'mcp.example/notes', resource: 'https://mcp.example/notes' },
      scopes: [
        {
          scope: 'notes:read',
          sentence: 'Read your notes',
          new: false,
          optional: true,
          includes: [],
          access: 'read',
          extra: false,
          off_by_default: false,
        },
        {
          scope: 'notes:write',
          sentence: 'Change your notes',
          new: false,
          optional: true,
          includes: ['Read your notes'],
          access: 'write',
          extra: false,
          off_by_default: false,
        },
      ],
      kept: [],
      known: false,
      workspace: null,
      workspaces: [],
      other_workspaces_url: null,
      other_account_url: expect.stringMatching(/^https:\/\/as\.example\/login\?flow=flow_[\w-]+&again=yes$/),
    });
    const answer = { challenge: consent, account: ACCOUNT, scopes: ['notes:read'] };
    const { left } = await t.visitor.open(await t.conclude('/headless/accept', answer));
    expect(left?.href).toMatch(/^https:\/\/app\.example\/callback\?code=[\w-]{52}&state=xyz&iss=/);
    const token = await t.post('/token', {
      ...redemption(left?.searchParams.get('code') ?? '', VERIFIER, 'web'),
      client_secret: 'web-secret',
      redirect_uri: CALLBACK,
    });
    expect([token.status, token.body['scope']]).toEqual([200, 'notes:read']);
    expect(t.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        'login.succeeded',
        'consent.allowed',
        'authorization_code.issued',
        'token.issued',
      ]),
    );
  });

  it('tells the client when the user declines in the external UI, at either step', async () => {
    const t = await stage();
    const login = challengeOf(await t.visitor.open(wanted), loginUrl);
    const first = await t.visitor.open(await t.conclude('/headless/refuse', { challenge: login }));
    expect(first.left?.searchParams.get('error')).toBe('access_denied');
    const challenge = challengeOf(await signIn(t, t.visitor, wanted), consentUrl);
    const second = await t.visitor.open(await t.conclude('/headless/refuse', { challenge }));
    expect(second.left?.searchParams.get('error')).toBe('access_denied');
    expect(t.events.filter(({ type }) => type === 'consent.denied')).toHaveLength(2);
  });

  it('signs in for the account pages too, and shows no login form of its own', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open('/account'), loginUrl);
    const { body } = await t.call('/headless/ask', { challenge });
    expect([body['page'], body['app']]).toEqual(['account', null]);
    const account = await t.visitor.open(await t.conclude('/headless/accept', { challenge, email: EMAIL }));
    expect([account.path, textOf(account)]).toEqual(['/account', expect.stringContaining(EMAIL)]);
    expect(textOf(account)).not.toMatch(/Passkeys|Two-step verification/);
    for (const path of ['/account/codes', '/account/passkeys/add', '/login/code', '/login/passkey']) {
      expect([path, (await t.visitor.open(path)).status]).toEqual([path, 404]);
    }
    expect(await t.server.setupLink()).toBeNull();
    const other = t.newVisitor();
    const sent = await other.open('/invitation?token=x');
    challengeOf(sent, loginUrl);
    const typed = await other.open('/login', { method: 'POST', body: new URLSearchParams() });
    expect(typed.status).toBe(405);
  });

  it('asks again when the user declined to sign in for the account pages', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open('/connections'), loginUrl);
    const refused = await t.visitor.open(await t.conclude('/headless/refuse', { challenge }));
    expect([refused.status, textOf(refused)]).toEqual([
      403,
      expect.stringMatching(/Not signed in .*Sign in again/),
    ]);
  });

  it('remembers a session only as long as the external UI says', async () => {
    const t = await stage({ loginUrl, secrets: [SECRET] });
    expect((await signIn(t, t.visitor, wanted)).path).toMatch(/^\/consent/);
    t.clock.now += 601;
    challengeOf(await t.visitor.open(wanted), loginUrl);
    expect((await signIn(t, t.visitor, wanted, { remember: 86_400 })).path).toMatch(/^\/consent/);
    t.clock.now += 80_000;
    expect((await t.visitor.open(wanted)).path).toMatch(/^\/consent/);
    t.clock.now += 86_400;
    challengeOf(await t.visitor.open(wanted), loginUrl);
  });

  it('tells the external UI when the user must sign in again or switch accounts', async () => {
    const t = await stage({ loginUrl, secrets: [SECRET] });
    const consent = await signIn(t, t.visitor, wanted);
    const switched = await t.visitor.submit(consent, { decision: 'switch' });
    const other = await t.call('/headless/ask', { challenge: challengeOf(switched, loginUrl) });
    expect(other.body['fresh']).toBe(true);
    const fresh = await t.visitor.open(requestOf({ prompt: 'login' }));
    const asked = await t.call('/headless/ask', { challenge: challengeOf(fresh, loginUrl) });
    expect(asked.body['fresh']).toBe(true);
  });

  it('our own pages handle the steps that the external UI does not show', async () => {
    const t = await stage({ consentUrl, secrets: [SECRET] });
    const login = await t.visitor.open(wanted);
    expect(login.headers.get('content-security-policy')).toContain("form-action 'self';");
    const onward = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    // A redirect that follows a form is held to the page's form-action, so the page leads on instead.
    const refresh = /^0; url=(\/consent\?flow=.+)$/.exec(onward.headers.get('refresh') ?? '');
    challengeOf(await t.visitor.open(refresh?.[1] ?? ''), consentUrl);
  });

  it('creates accounts only if the operator enabled it', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const before = t.snapshot();
    const accept = { challenge, email: 'grace@example.org' };
    const refused = await t.call('/headless/accept', accept);
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_request']);
    expect(withoutSpent(t.snapshot())).toBe(withoutSpent(before));

    const u = await stage({ ...both, createAccounts: true });
    const own = challengeOf(await u.visitor.open(wanted), loginUrl);
    challengeOf(
      await u.visitor.open(await u.conclude('/headless/accept', { ...accept, challenge: own })),
      consentUrl,
    );
    const made = await u.store.findAccountByEmail('grace@example.org');
    expect([made?.email, made?.disabledAt]).toEqual(['grace@example.org', null]);
  });

  it('rejects a disabled account, even one that was accepted before', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const back = await t.conclude('/headless/accept', { challenge, email: EMAIL });
    await t.server.accounts.disable(EMAIL);
    expect(textOf(await t.visitor.open(back))).toContain('no longer open');
    const again = challengeOf(await t.visitor.open(wanted), loginUrl);
    expect((await t.call('/headless/accept', { challenge: again, email: EMAIL })).status).toBe(400);
  });

  it('the external UI picks a workspace, which is bound to the grant', async () => {
    const workspaces = async () => [
      { id: 'w1', name: 'One' },
      { id: 'w2', name: 'Two' },
    ];
    const t = await stage(both, { workspaces });
    const challenge = challengeOf(await signIn(t, t.visitor, wanted), consentUrl);
    const { body } = await t.call('/headless/ask', { challenge });
    expect(body['workspaces']).toEqual(await workspaces());
    const accept = { challenge, account: ACCOUNT, scopes: ['notes:read'] };
    for (const workspace of [{}, { workspace: 'w3' }]) {
      const { status, body: refused } = await t.call('/headless/accept', { ...accept, ...workspace });
      expect([status, refused['error']]).toEqual([400, 'invalid_request']);
    }
    const sight = await t.visitor.open(await t.conclude('/headless/accept', { ...accept, workspace: 'w2' }));
    const redeemed = await t.post('/token', {
      ...redemption(sight.left?.searchParams.get('code') ?? '', VERIFIER, 'web'),
      client_secret: 'web-secret',
      redirect_uri: CALLBACK,
    });
    expect(redeemed.status).toBe(200);
    const [grant] = await t.store.listGrants(ACCOUNT, t.clock.now, null, 100);
    expect(grant?.workspace).toBe('w2');
  });

  it('describes resources and scopes in the browser’s language', async () => {
    const scopes = { read: 'Read your notes' };
    const translations = { de: { name: 'Notizen', scopes: { read: 'Ihre Notizen lesen' } } };
    const resources = [{ resource: 'https://mcp.example/notes', name: 'Notes', scopes, translations }];
    const t = await stage(both, { resources });
    t.visitor.headers = { 'accept-language': 'de' };
    const challenge = challengeOf(await signIn(t, t.visitor, requestOf()), consentUrl);
    const { body } = await t.call('/headless/ask', { challenge });
    expect(body).toMatchObject({
      language: 'de',
      server: { name: 'Notizen' },
      scopes: [{ scope: 'read', sentence: 'Ihre Notizen lesen' }],
    });
  });
});

describe('the API for the external UI', () => {
  const CASES: readonly [string, (t: Stage, challenge: string) => Promise<Answer>][] = [
    ['no signature', (t, challenge) => unsigned(t, { challenge }, {})],
    ['a signature of another form', (t, challenge) => unsigned(t, { challenge }, { 'portcullis-signature': 'x' })],
    ['another secret', (t, challenge) => t.call('/headless/ask', { challenge }, { secret: `${SECRET}.` })],
    ['a signature for another path', (t, challenge) => t.call('/headless/ask', { challenge }, { path: '/headless/accept' })],
    ['a signature for another server', (t, challenge) => t.call('/headless/ask', { challenge }, { issuer: 'https://as2.example' })],
    ['a signature for another body', (t, challenge) => t.call('/headless/ask', { challenge }, { body: '{}' })],
    ['a signature of a minute ago', (t, challenge) => t.call('/headless/ask', { challenge }, { at: t.clock.now - 61 })],
    ['a signature of the future', (t, challenge) => t.call('/headless/ask', { challenge }, { at: t.clock.now + 61 })],
  ]; // biome-ignore format: a table
  it.each(CASES)('the API rejects a request with %s', async (_what, send) => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const before = t.snapshot();
    const { status, body } = await send(t, challenge);
    expect([status, body['error']]).toEqual([401, 'invalid_client']);
    expect(t.snapshot()).toBe(before);
    expect((await t.call('/headless/ask', { challenge })).status).toBe(200);
  });

  it('accepts a request signature once', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const nonce = 'a-nonce-of-the-test';
    expect((await t.call('/headless/ask', { challenge }, { nonce })).status).toBe(200);
    expect((await t.call('/headless/ask', { challenge }, { nonce })).status).toBe(401);
    expect((await t.call('/headless/ask', { challenge }, { nonce: `${nonce}-2` })).status).toBe(200);
  });

  it('accepts a request signature once, however its last base64url bits are written', async () => {
    const t = await stage({ loginUrl, secrets: [SECRET] });
    const body = JSON.stringify({ email: EMAIL });
    const path = '/headless/sign-out';
    const signature = signatureOf({ issuer: ISSUER, path, body, at: t.clock.now });
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = digits.indexOf(signature.at(-1) ?? '');
    const spellings = [0, 1, 2, 3].map((bits) => signature.slice(0, -1) + digits[(last & ~3) | bits]);
    const statuses: number[] = [];
    for (const one of [signature, ...spellings]) {
      const headers = { 'content-type': 'application/json', 'portcullis-signature': one };
      statuses.push((await t.send(path, { method: 'POST', headers, body })).status);
    }
    expect(statuses).toEqual([200, 401, 401, 401, 401]);
  });

  it('accepts either of two secrets, so that one can be rotated', async () => {
    const next = 'the next secret of the application';
    const t = await stage({ ...both, secrets: [next, SECRET] });
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    expect((await t.call('/headless/ask', { challenge })).status).toBe(200);
    expect((await t.call('/headless/ask', { challenge }, { secret: next })).status).toBe(200);
  });

  it('the API is for servers: it has no CORS, and is missing without an external UI', async () => {
    const t = await stage();
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const preflight = await t.send('/headless/ask', { method: 'OPTIONS', headers });
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const answer = await t.call('/headless/ask', { challenge });
    for (const { headers: sent } of [preflight, answer]) {
      expect([...sent.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const u = await setScene();
    expect((await u.send('/headless/ask', { method: 'POST' })).status).toBe(404);
    expect((await u.send('/headless/continue')).status).toBe(404);
  });

  it.each<[string, (challenge: string) => unknown, string]>([
    ['a body that is no object', () => [], 'invalid_request'],
    ['no challenge', () => ({ email: EMAIL }), 'invalid_request'],
    ['a challenge that is none', () => ({ challenge: 'x', email: EMAIL }), 'invalid_grant'],
    ['a changed challenge', (challenge) => ({ challenge: flip(challenge), email: EMAIL }), 'invalid_grant'],
    ['no address', (challenge) => ({ challenge }), 'invalid_request'],
    ['an address that is none', (challenge) => ({ challenge, email: 'ada' }), 'invalid_request'],
    ['half seconds', (challenge) => ({ challenge, email: EMAIL, remember: 0.5 }), 'invalid_request'],
  ])('the API rejects %s', async (_what, members, error) => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const { status, body } = await t.call('/headless/accept', members(challenge));
    expect([status, body['error']]).toEqual([400, error]);
    await t.conclude('/headless/accept', { challenge, email: EMAIL });
  });

  it.each<[string, object]>([
    ['T068: a wider scope', { scopes: ['notes:read', 'files:read'] }],
    ['nothing', { scopes: [] }],
    ['scopes that are no list', { scopes: 'notes:read' }],
    ['a workspace where there is none', { scopes: ['notes:read'], workspace: 'w1' }],
  ])('the API does not accept %s', async (_what, members) => {
    const t = await stage();
    const challenge = challengeOf(await signIn(t, t.visitor, wanted), consentUrl);
    const accept = { challenge, account: ACCOUNT };
    const { status, body } = await t.call('/headless/accept', { ...accept, ...members });
    expect([status, body['error']]).toEqual([400, 'invalid_request']);
    expect(t.events.some(({ type }) => type === 'authorization_code.issued')).toBe(false);
    await t.conclude('/headless/accept', { ...accept, scopes: ['notes:read'] });
  });

  it('signs out a user who signed out of the external UI', async () => {
    const t = await stage({ loginUrl, secrets: [SECRET] });
    await signIn(t, t.visitor, wanted, { remember: 3600 });
    expect((await t.visitor.open('/account')).path).toBe('/account');
    expect((await t.call('/headless/sign-out', { email: 'unknown@example.org' })).body).toEqual({ ended: 0 });
    expect((await t.call('/headless/sign-out', { email: EMAIL })).body).toEqual({ ended: 1 });
    challengeOf(await t.visitor.open('/account'), loginUrl);
  });

  it('accepts one result for a challenge, while it is open', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    await t.conclude('/headless/accept', { challenge, email: EMAIL });
    for (const path of ['/headless/accept', '/headless/refuse']) {
      const { status, body } = await t.call(path, { challenge, email: EMAIL });
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    }
    const late = challengeOf(await t.visitor.open(wanted), loginUrl);
    t.clock.now += 600;
    expect((await t.call('/headless/ask', { challenge: late })).body['error']).toBe('invalid_grant');
  });

  it('rejects a result for a consent request that has changed, and starts the current one', async () => {
    let names = ['One', 'Two'];
    const workspaces = async () => names.map((name) => ({ id: name.toLowerCase(), name }));
    const t = await stage(both, { workspaces });
    const challenge = challengeOf(await signIn(t, t.visitor, wanted), consentUrl);
    const accept = { account: ACCOUNT, scopes: ['notes:read'], workspace: 'one' };
    names = ['Another', 'Two'];
    expect((await t.call('/headless/ask', { challenge })).body['error']).toBe('invalid_grant');
    expect((await t.call('/headless/accept', { challenge, ...accept })).body['error']).toBe('invalid_grant');
    const again = await t.visitor.open(`/headless/continue?challenge=${challenge}`);
    const fresh = challengeOf(again, consentUrl);
    const back = await t.conclude('/headless/accept', { challenge: fresh, ...accept, workspace: 'another' });
    names = ['One', 'Two'];
    const late = await t.visitor.open(back);
    expect([late.left, textOf(late)]).toEqual([null, expect.stringContaining('Nothing was changed')]);
  });
});

describe('a result from the external UI', () => {
  it('T069: signs in only the browser that started the transaction (login CSRF)', async () => {
    const t = await stage();
    const [attacker, victim] = [t.newVisitor(), t.visitor];
    const challenge = challengeOf(await attacker.open(wanted), loginUrl);
    const back = await t.conclude('/headless/accept', { challenge, email: EMAIL });
    await victim.open(wanted);
    const before = t.snapshot();
    const sight = await victim.open(back);
    expect([sight.status, textOf(sight)]).toEqual([403, expect.stringContaining('another browser')]);
    expect(victim.cookies.has('__Host-portcullis-session')).toBe(false);
    expect(t.snapshot()).toBe(before);
    challengeOf(await attacker.open(back), consentUrl);
  });

  it('T069: leaves nothing for the first browser when another one delivered the result', async () => {
    const t = await stage();
    const [attacker, victim] = [t.newVisitor(), t.visitor];
    // The victim is led to the application with the attacker’s challenge, and is signed in there.
    const challenge = challengeOf(await attacker.open(wanted), loginUrl);
    await victim.open(await t.conclude('/headless/accept', { challenge, email: EMAIL }));
    // The attacker never saw the result, and their browser has not moved on.
    const again = await attacker.open(`/headless/continue?challenge=${challenge}`);
    challengeOf(again, loginUrl);
    expect(attacker.cookies.has('__Host-portcullis-session')).toBe(false);
  });

  it('T069: rejects a result for another user’s challenge on the account pages', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.newVisitor().open('/connections'), loginUrl);
    const back = await t.conclude('/headless/accept', { challenge, email: EMAIL });
    const sight = await t.visitor.open(back);
    expect([sight.status, textOf(sight)]).toEqual([403, expect.stringContaining('Nothing was changed')]);
    expect(t.visitor.cookies.has('__Host-portcullis-session')).toBe(false);
  });

  it('T067: a result is valid only for the account and session it was made for (consent fixation)', async () => {
    const t = await stage({ ...both, createAccounts: true });
    const challenge = challengeOf(await signIn(t, t.visitor, wanted), consentUrl);
    const accept = { challenge, scopes: ['notes:read'] };
    const other = await t.call('/headless/accept', { ...accept, account: 'user_grace' });
    expect([other.status, other.body['error']]).toEqual([403, 'access_denied']);
    const back = await t.conclude('/headless/accept', { ...accept, account: ACCOUNT });

    const elsewhere = await t.newVisitor().open(back);
    expect([elsewhere.status, elsewhere.left]).toEqual([403, null]);
    // Another session in the same browser may be another user.
    await signIn(t, t.visitor, requestOf({ prompt: 'login' }), { email: 'grace@example.org' });
    const swapped = await t.visitor.open(back);
    expect([swapped.status, swapped.left]).toEqual([403, null]);
    expect(t.events.some(({ type }) => type === 'authorization_code.issued')).toBe(false);
  });

  it('T067: a result is not consumed by link previews, and is used once', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const back = await t.conclude('/headless/accept', { challenge, email: EMAIL });
    const before = t.snapshot();
    expect((await t.visitor.open(back, { method: 'HEAD' })).status).toBe(403);
    expect((await t.visitor.open(back, { headers: { 'sec-purpose': 'prefetch' } })).status).toBe(403);
    const cookies = new Map(t.visitor.cookies);
    t.visitor.cookies.clear();
    expect(textOf(await t.visitor.open(back))).toContain('did not send our cookie');
    for (const [name, value] of cookies) t.visitor.cookies.set(name, value);
    expect(t.snapshot()).toBe(before);
    challengeOf(await t.visitor.open(back), consentUrl);
    const twice = await t.visitor.open(back);
    expect([twice.status, twice.left]).toEqual([403, null]);
  });

  it('T068: a challenge works under a new master key while the previous one is configured', async () => {
    const t = await stage();
    const next = new Uint8Array(32).fill(9);
    const serverWith = (more: Partial<AuthorizationServerOptions>) =>
      createAuthorizationServer({
        issuer: ISSUER,
        store: t.store,
        masterKey: MASTER_KEY,
        resources: RESOURCES,
        clients: CLIENTS,
        externalUi: both,
        clock: () => t.clock.now,
        ...more,
      });
    const keys = createKeyAdministration({ store: t.store, masterKey: MASTER_KEY });
    const leave = async () => {
      const visitor = t.newVisitor();
      return { visitor, challenge: challengeOf(await visitor.open(wanted), loginUrl) };
    };
    const [first, second, third] = [await leave(), await leave(), await leave()];
    const answered = await t.conclude('/headless/accept', { challenge: third.challenge, email: EMAIL });
    await keys.reencrypt(next);
    const accept = async (server: AuthorizationServer, challenge: string) => {
      const path = '/headless/accept';
      const body = JSON.stringify({ challenge, email: EMAIL });
      const signature = signatureOf({ issuer: ISSUER, path, body, at: t.clock.now });
      const headers = { 'content-type': 'application/json', 'portcullis-signature': signature };
      const response = await server.handle(new Request(ISSUER + path, { method: 'POST', headers, body }));
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const walk = async (server: AuthorizationServer, { cookies }: Visitor, path: string) => {
      const visitor = createVisitor(server, '198.51.100.7');
      for (const [name, value] of cookies) visitor.cookies.set(name, value);
      return visitor.open(path);
    };

    const beside = await serverWith({ masterKey: next, previousMasterKeys: [MASTER_KEY] });
    const { status, body } = await accept(beside, first.challenge);
    const back = new URL(String(body['continue']));
    const sight = await walk(beside, first.visitor, back.pathname + back.search);
    expect([status, sight.left?.href.startsWith(consentUrl)]).toEqual([200, true]);

    const alone = await serverWith({ masterKey: next });
    const refused = await accept(alone, second.challenge);
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
    // The signed request was used up, and nothing else.
    const before = t.snapshot();
    const lost = await walk(alone, third.visitor, answered);
    expect([lost.status, lost.left]).toEqual([400, null]);
    expect(t.snapshot()).toBe(before);
    const found = await walk(beside, third.visitor, answered);
    expect(found.left?.href.startsWith(consentUrl)).toBe(true);
  });

  it('T068: rejects a result that was changed, has expired, or is a challenge', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    const back = await t.conclude('/headless/accept', { challenge, email: EMAIL });
    const before = t.snapshot();
    for (const path of [flip(back), `/headless/continue?answer=${challenge}`, '/headless/continue']) {
      const sight = await t.visitor.open(path);
      expect([sight.status, textOf(sight)]).toEqual([400, expect.stringContaining('no longer open')]);
    }
    t.clock.now += 120;
    expect((await t.visitor.open(back)).status).toBe(400);
    expect(t.snapshot()).toBe(before);
  });

  it('neither a result nor a challenge reveals anything', async () => {
    const t = await stage();
    const challenge = challengeOf(await t.visitor.open(wanted), loginUrl);
    expect(challenge).toMatch(/^[\w-]{100,1500}$/);
    expect(Buffer.from(challenge, 'base64url').toString('latin1')).not.toMatch(/flow_|example/);
  });
});

function unsigned(t: Stage, members: object, headers: Record<string, string>): Promise<Answer> {
  return t.send('/headless/ask', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(members),
  });
}

/** The same text with another character in its middle. */
function flip(text: string): string {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

/** The only trace of a request of the application: its used signature. */
function withoutSpent(snapshot: string): string {
  return snapshot.replace(/^used_client_assertions\n.*/ms, '');
}
