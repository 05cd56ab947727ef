/** From an authorization transaction to the code: sign-in, consent, and attempts to decide for another user (CSRF, fixation). */
import { temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { hashSecret, lookupKeyOf } from '../src/secrets.ts';
import { ACCOUNT, claimsOf, ISSUER, NOTES, redemption } from './server-under-test.ts';
import {
  decide,
  EMAIL,
  PASSWORD,
  referenceOf,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  VERIFIER,
} from './visitor.ts';

const SESSION = '__Host-portcullis-session';
const BROWSER = '__Host-portcullis-browser-';

/** An error page: no redirect, no code, nothing stored. */
async function expectRefused(t: Scene, status: number, act: () => Promise<Sight>): Promise<Sight> {
  const before = t.snapshot();
  const sight = await act();
  expect([sight.status, sight.left, sight.headers.get('location')]).toEqual([status, null, null]);
  expect(t.snapshot()).toBe(before);
  return sight;
}

async function codeOf(t: Scene, { left }: Sight): Promise<unknown> {
  return t.store.findCode(lookupKeyOf(left?.searchParams.get('code') ?? ''));
}

function flowOf({ path }: Sight): string {
  return new URL(path, ISSUER).searchParams.get('flow') ?? '';
}

describe('an authorization from end to end', () => {
  it('[AS-AUTHZ-1 AS-AUTHZ-62 AS-FLOW-A5 AS-FLOW-B5] asks for sign-in, then consent, and redirects to the client with a code', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf({ resource: NOTES, scope: 'notes:read notes:write' }));
    expect([login.status, login.path.split('?')[0]]).toEqual([200, '/login']);
    const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect([consent.status, consent.path.split('?')[0]]).toEqual([200, '/consent']);
    const back = await t.visitor.submit(consent, { decision: 'allow' });
    expect(back.status).toBe(303);
    expect(back.left?.href.startsWith('https://app.example/callback?code=')).toBe(true);
    expect(await codeOf(t, back)).toMatchObject({
      clientId: 'web',
      accountId: ACCOUNT,
      redirectUri: 'https://app.example/callback',
      scopes: ['notes:read', 'notes:write'],
      resources: [NOTES],
      issuedAt: t.clock.now,
      expiresAt: t.clock.now + 60,
    });
    expect(t.events.map(({ type }) => type)).toEqual([
      'key.created',
      'authorization.started',
      'login.succeeded',
      'consent.allowed',
      'authorization_code.issued',
    ]);
    const [, begun, ...others] = t.events;
    expect(begun?.transactionId).toMatch(/./);
    for (const { type, transactionId } of others)
      expect([type, transactionId]).toEqual([type, begun?.transactionId]);
  });

  it('[AS-O21-1 ALL-O21-1 AS-GRANT-2] issues public and confidential clients a code for a token of the signed-in user', async () => {
    const t = await setScene();
    const registered = await t.registerClient({ redirect_uris: ['http://127.0.0.1/cb'] });
    const clients: readonly [string, string, Record<string, string>][] = [
      [registered, 'http://127.0.0.1:51004/cb', {}],
      ['web', 'https://app.example/callback', { client_secret: 'web-secret' }],
    ];
    for (const [client_id, redirect_uri, secret] of clients) {
      const { left } = await decide(t.visitor, requestOf({ client_id, redirect_uri }));
      expect(left?.href.startsWith(`${redirect_uri}?code=`)).toBe(true);
      const form = redemption(left?.searchParams.get('code') ?? '', VERIFIER, client_id);
      const { status, body } = await t.post('/token', { ...form, ...secret });
      expect([status, claimsOf(body['access_token'])['sub']]).toEqual([200, ACCOUNT]);
    }
  });

  it('[AS-AUTHZ-76 AS-AUTHZ-77] returns the state unchanged, once, with a code or an error, and none if the request had none', async () => {
    const t = await setScene();
    for (const decision of ['allow', 'deny']) {
      const { left } = await decide(t.visitor, requestOf({ state: 'a b+%/=&"é' }), decision);
      expect(left?.searchParams.getAll('state')).toEqual(['a b+%/=&"é']);
      expect(['code', 'error'].filter((name) => left?.searchParams.has(name))).toHaveLength(1);
      expect([left?.searchParams.getAll('iss'), left?.hash]).toEqual([[ISSUER], '']);
      const without = await decide(t.visitor, requestOf({ state: undefined }), decision);
      expect(without.left?.searchParams.has('state')).toBe(false);
    }
  });

  it('[AS-AUTHZ-77] keeps the query of a registered redirect URI', async () => {
    const t = await setScene();
    const redirect_uri = 'https://q.example/cb?tenant=a%20b&x';
    const client_id = await t.registerClient({ redirect_uris: [redirect_uri] });
    for (const decision of ['allow', 'deny']) {
      const { left } = await decide(t.visitor, requestOf({ client_id, redirect_uri }), decision);
      expect(left?.href.startsWith(`${redirect_uri}&`)).toBe(true);
    }
  });

  it('[AS-AUTHZ-73] T016: redirects access_denied when the user declines, and stores nothing', async () => {
    const t = await setScene();
    const consent = await t.visitor.signIn(requestOf());
    const { status, left } = await t.visitor.submit(consent, { decision: 'deny' });
    expect([status, left?.searchParams.get('error'), left?.searchParams.get('state')]).toEqual([
      303,
      'access_denied',
      'xyz',
    ]);
    expect(left?.searchParams.getAll('iss')).toEqual([ISSUER]);
    expect(t.snapshot()).toContain('authorization_codes\n\n');
    expect(await t.store.findTransaction(flowOf(consent), t.clock.now)).toBeNull();
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'consent.denied', clientId: 'web', accountId: ACCOUNT }),
    );
  });

  it('[AS-ISS-60 AS-ISS-30 AS-ISS-31] T016: includes the issuer of the metadata in every authorization response', async () => {
    const t = await setScene();
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body['authorization_response_iss_parameter_supported']).toBe(true);
    const responses = [
      await decide(t.visitor, requestOf()),
      await decide(t.visitor, requestOf(), 'deny'),
      await t.visitor.open(requestOf({ scope: 'nonsense' })),
      await t.visitor.open(requestOf({ prompt: 'none' })),
      await t.newVisitor().open(requestOf({ response_type: undefined })),
    ];
    for (const { left } of responses) expect(left?.searchParams.getAll('iss')).toEqual([body['issuer']]);
  });

  it('[AS-AUTHZ-74] T016: redirects server_error when the code cannot be stored', async () => {
    const store = await openEmptyStore();
    let fails = true;
    const t = await setScene({
      store: {
        ...store,
        completeTransaction: (id, code) =>
          fails
            ? Promise.reject(temporarilyUnavailable('the disk is full'))
            : store.completeTransaction(id, code),
      },
    });
    const consent = await t.visitor.signIn(requestOf());
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    expect([left?.searchParams.get('error'), left?.searchParams.get('iss')]).toEqual([
      'temporarily_unavailable',
      ISSUER,
    ]);
    fails = false;
    const again = await t.visitor.submit(consent, { decision: 'allow' });
    expect(again.left?.searchParams.has('code')).toBe(true);
  });

  it('[AS-AUTHZ-78 AS-AUTHZ-84] redirects with 303, without caching and without a referrer', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    const back = await t.visitor.submit(consent, { decision: 'allow' });
    const declined = await decide(t.visitor, requestOf(), 'deny');
    const redirects = [...login.trail, ...consent.trail, back, declined];
    expect(redirects).toHaveLength(4);
    for (const { status, headers } of redirects) {
      expect([status, headers.get('cache-control'), headers.get('referrer-policy')]).toEqual([
        303,
        'no-store',
        'no-referrer',
      ]);
    }
  });

  it('[AS-AUTHZ-81] asks for consent again although the same was allowed before', async () => {
    const t = await setScene();
    const client_id = await t.registerClient({ redirect_uris: ['http://127.0.0.1/cb'] });
    for (const path of [requestOf({ client_id, redirect_uri: 'http://127.0.0.1:1/cb' }), requestOf()]) {
      await decide(t.visitor, path);
      const again = await t.visitor.open(path);
      expect([again.status, again.path.split('?')[0]]).toEqual([200, '/consent']);
    }
  });

  it('asks a signed-in user to sign in again for prompt=login', async () => {
    const t = await setScene();
    await t.visitor.signIn(requestOf());
    const sight = await t.visitor.open(requestOf({ prompt: 'login' }));
    expect(sight.path).toMatch(/^\/login/);
    const around = await t.visitor.open(sight.path.replace('/login', '/consent'));
    expect(around.path).toMatch(/^\/login/);
    const consent = await t.visitor.submit(around, { email: EMAIL, password: PASSWORD });
    expect((await t.visitor.submit(consent, { decision: 'allow' })).left?.searchParams.has('code')).toBe(
      true,
    );
  });
});

describe('the consent page', () => {
  it('T073: the consent page names client, scopes, resource, account and redirect host', async () => {
    const t = await setScene();
    const sight = await t.visitor.signIn(requestOf({ scope: 'notes:read notes:write' }));
    expect(textOf(sight)).toBe(
      `as.example web wants to use Notes Signed in as ${EMAIL} · not you? ` +
        'Set up by your administrators · returns to app.example About this app ' +
        'This app was set up by the administrators of as.example . You will return to app.example ' +
        'On mcp.example/notes it will be able to Read your notes Change your notes ' +
        'Includes: Read your notes Turn off anything you do not want to allow. ' +
        'Cancel Allow access Deutsch Français Español 日本語 简体中文',
    );
  });

  it.each([
    ['https://xn--mnchen-3ya.example/cb', 'You will return to xn--mnchen-3ya.example', false],
    ['http://127.0.0.1:51004/cb', 'You will return to 127.0.0.1:51004 on this computer', true],
    ['cursor://anysphere/cb', 'opens cursor: links', true],
  ])(
    'T054 T073: the consent page marks a self-registered app as unverified (%s)',
    async (redirect_uri, place, warned) => {
      const t = await setScene({ privateUseSchemes: ['cursor'] });
      const client_id = await t.registerClient({ client_name: 'Claude', redirect_uris: [redirect_uri] });
      const text = textOf(await t.visitor.signIn(requestOf({ client_id, redirect_uri })));
      expect(text).toMatch(
        /Claude wants to use Notes .* Unverified app · returns to .* This app is not verified\./,
      );
      expect(text).toContain(place);
      expect(text.includes('could impersonate this app')).toBe(warned);
    },
  );

  it('[AS-AUTHZ-82] T065: escapes text from clients and requests, and embeds nothing of theirs', async () => {
    const t = await setScene();
    const payload = `"><script>alert(1)</script><img src=x onerror=alert(1)>'\${7*7}`;
    const client_id = await t.registerClient({
      client_name: payload.slice(0, 48),
      logo_uri: 'https://evil.example/logo.svg',
      client_uri: 'https://evil.example/',
      redirect_uris: ['https://c.example/cb?a=%22%3E%3Cscript%3E'],
    });
    const wanted = { client_id, redirect_uri: undefined, state: payload };
    for (const sight of [
      await t.visitor.signIn(requestOf(wanted)),
      await t.newVisitor().open(requestOf({ ...wanted, scope: 'nonsense' })),
      await t.newVisitor().open(requestOf({ ...wanted, scope: payload })),
      await t.newVisitor().open(requestOf({ ...wanted, resource: `https://mcp.example/${payload}` })),
      await t.newVisitor().open(requestOf({ ...wanted, client_id: payload })),
      await t.newVisitor().open(requestOf({ ...wanted, redirect_uri: payload })),
      await t.newVisitor().open(`/login?flow=${encodeURIComponent(payload)}`),
      await t.newVisitor().open(`/setup?token=${encodeURIComponent(payload)}`),
    ]) {
      expect(sight.html).not.toMatch(
        /<script(?! src="\/assets\/[\w-]{16}\.js" defer><\/script>)|<img|evil\.example|\sonerror="|style=|\son\w+="/i,
      );
      expect(sight.html.match(/<[a-z]+/g)?.every((tag) => !['<iframe', '<object'].includes(tag))).toBe(true);
    }
    const consent = await t.visitor.open(requestOf(wanted));
    expect(consent.html).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('T065: escapes the names of accounts, workspaces and browsers', async () => {
    const email = '<img/src=x/onerror=alert(1)>"@example.org';
    const workspaces = async () => [
      { id: '"><script>', name: '<script>alert(1)</script>' },
      { id: 'w2', name: 'Two' },
    ];
    const t = await setScene({ workspaces });
    const invited = await t.server.accounts.add(email);
    const { pathname, search } = new URL('link' in invited ? invited.link : '');
    const visitor = t.newVisitor();
    visitor.headers = { 'user-agent': 'Firefox/1 <script>alert(1)</script> Linux' };
    const page = await visitor.open(`${pathname}${search}`);
    const ready = await visitor.submit(page, { password: PASSWORD, password_again: PASSWORD });
    for (const sight of [
      page,
      ready,
      await visitor.open(requestOf()),
      await visitor.open('/connections'),
      await visitor.open('/account'),
      await visitor.open('/account/password'),
    ]) {
      expect([sight.path, sight.status]).toEqual([sight.path, 200]);
      expect(sight.html).not.toMatch(/<script>|<img\/|"@example/);
    }
    expect(textOf(await visitor.open('/account'))).toContain(`${email}`);
  });

  it('T073: a long client name does not push the rest of the consent page away', async () => {
    const t = await setScene();
    const client_id = await t.registerClient({
      client_name: 'A '.repeat(150),
      redirect_uris: ['https://c.example/cb'],
    });
    const sight = await t.visitor.signIn(requestOf({ client_id, redirect_uri: undefined }));
    expect(textOf(sight)).toContain(
      `as.example ${'A '.repeat(24)}A… wants to use Notes Signed in as ${EMAIL} · not you? Unverified app`,
    );
  });

  it('[AS-AUTHZ-79] T067: pages cannot be framed, scripted, cached or made to post elsewhere (clickjacking)', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const consent = await t.visitor.signIn(requestOf());
    for (const sight of [
      login,
      consent,
      await t.visitor.open('/login'),
      await t.visitor.open('/authorize'),
    ]) {
      const policy = sight.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'self'; (script-src 'self'; )?form-action 'self'/,
      );
      expect(policy).toContain("; frame-ancestors 'none'; base-uri 'none'");
      expect(sight.headers.get('x-frame-options')).toBe('DENY');
      expect(sight.headers.get('x-content-type-options')).toBe('nosniff');
      expect([sight.headers.get('cache-control'), sight.headers.get('referrer-policy')]).toEqual([
        'no-store',
        'no-referrer',
      ]);
    }
    expect(login.headers.get('content-security-policy')).toContain("form-action 'self';");
    expect(consent.headers.get('content-security-policy')).not.toContain('script-src');
    expect(consent.headers.get('content-security-policy')).toContain(
      "form-action 'self' https://app.example ",
    );
  });

  it('the consent page is small, and its stylesheet is cached for ever', async () => {
    const t = await setScene();
    const consent = await t.visitor.signIn(requestOf());
    const href = /<link rel="stylesheet" href="([^"]+)">/.exec(consent.html)?.[1] ?? '';
    const style = await t.visitor.open(href);
    expect([style.status, style.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    expect(style.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(consent.html.length + style.html.length).toBeLessThan(20_000);
    expect((await t.visitor.open('/assets/other.css')).status).toBe(404);
  });
});

describe('a forged consent decision', () => {
  /** A consent page, and a check that it still accepts a decision afterwards. */
  async function openConsent(): Promise<{ t: Scene; consent: Sight }> {
    const t = await setScene();
    return { t, consent: await t.visitor.signIn(requestOf()) };
  }

  async function expectStillOpen(t: Scene, consent: Sight): Promise<void> {
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    expect(left?.searchParams.has('code')).toBe(true);
  }

  it('T067: rejects a consent decision without the CSRF token of this page', async () => {
    const { t, consent } = await openConsent();
    const other = await t.visitor.open(requestOf({ state: 'other' }));
    const token = /name="token" value="([^"]+)"/.exec(other.html)?.[1];
    for (const wrong of [undefined, '', 'x', token, `${token}x`]) {
      await expectRefused(t, 403, () => t.visitor.submit(consent, { decision: 'allow', token: wrong }));
    }
    await expectStillOpen(t, consent);
  });

  it('T067: rejects a consent decision with the CSRF token of an earlier session', async () => {
    const { t, consent } = await openConsent();
    const login = await t.visitor.submit(consent, { decision: 'switch' });
    const later = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    await expectRefused(t, 403, () => t.visitor.submit(consent, { decision: 'allow' }));
    await expectStillOpen(t, later);
  });

  it('T067: rejects a consent form posted by another site', async () => {
    const { t, consent } = await openConsent();
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
    ] as Record<string, string>[]) {
      t.visitor.headers = headers;
      await expectRefused(t, 403, () => t.visitor.submit(consent, { decision: 'allow' }));
    }
    t.visitor.headers = { 'sec-fetch-site': 'same-origin', origin: 'null' };
    await expectStillOpen(t, consent);
  });

  it('T067: takes no consent decision from GET, HEAD or prefetch', async () => {
    const { t, consent } = await openConsent();
    const path = `${consent.path}&decision=allow&approve=1&token=${/name="token" value="([^"]+)"/.exec(consent.html)?.[1]}`;
    for (const init of [{ method: 'GET' }, { method: 'HEAD' }, { headers: { 'sec-purpose': 'prefetch' } }]) {
      const before = t.snapshot();
      expect((await t.visitor.open(path, init)).left).toBeNull();
      expect(t.snapshot()).toBe(before);
    }
    await expectStillOpen(t, consent);
  });

  it('T067: rejects a consent decision without the cookies', async () => {
    const { t, consent } = await openConsent();
    const kept = new Map(t.visitor.cookies);
    for (const missing of [[BROWSER], [SESSION], [BROWSER, SESSION]]) {
      for (const name of kept.keys())
        if (missing.some((one) => name.startsWith(one))) t.visitor.cookies.delete(name);
      await expectRefused(t, 403, () => t.visitor.submit(consent, { decision: 'allow' }));
      for (const [name, value] of kept) t.visitor.cookies.set(name, value);
    }
    await expectStillOpen(t, consent);
  });

  it('T069: rejects a consent decision in a browser that did not start the transaction, signed in or not', async () => {
    const { t, consent } = await openConsent();
    const victim = t.newVisitor();
    await victim.signIn(requestOf());
    for (const page of ['/login', '/consent']) {
      const path = `${page}?flow=${flowOf(consent)}`;
      const sight = await expectRefused(t, 403, () => victim.open(path));
      expect(textOf(sight)).toContain('This was started in another browser');
      expect(textOf(await expectRefused(t, 403, () => t.newVisitor().open(path)))).toContain(
        'did not send our cookie',
      );
    }
    await expectRefused(t, 403, () => victim.submit(consent, { decision: 'allow' }));
    await expectRefused(t, 403, () =>
      victim.submit(consent, { decision: 'allow', email: EMAIL, password: PASSWORD }, '/login'),
    );
    await expectStillOpen(t, consent);
  });

  it('T068: rejects a consent decision with changed parameters', async () => {
    const { t, consent } = await openConsent();
    for (const change of [
      { scope: 'notes:write' },
      { scope: '*' },
      { client_id: 'desktop' },
      { redirect_uri: 'https://evil.example/cb' },
      { resource: 'https://mcp.example/files' },
      { decision: undefined },
      { decision: 'yes' },
    ]) {
      await expectRefused(t, 400, () => t.visitor.submit(consent, { decision: 'allow', ...change }));
    }
    await expectStillOpen(t, consent);
  });

  it('T068: rejects a consent decision after the transaction has expired', async () => {
    const { t, consent } = await openConsent();
    t.clock.now += 600;
    const sight = await expectRefused(t, 400, () => t.visitor.submit(consent, { decision: 'allow' }));
    expect(textOf(sight)).toContain('This request is no longer open');
    expect(t.events).toContainEqual(
      expect.objectContaining({ error: 'gone', reference: referenceOf(sight) }),
    );
  });

  it('grants only the scopes that the user leaves on', async () => {
    const t = await setScene();
    const consent = await t.visitor.signIn(requestOf({ scope: 'notes:read notes:write' }));
    const back = await t.visitor.submit(consent, { decision: 'allow', scope: 'notes:read' });
    expect(await codeOf(t, back)).toMatchObject({ scopes: ['notes:read'] });
  });

  it('takes one consent decision: neither a second click nor the back button issues another code', async () => {
    const { t, consent } = await openConsent();
    const back = await t.visitor.submit(consent, { decision: 'allow' });
    expect(back.left?.searchParams.has('code')).toBe(true);
    for (const act of [
      () => t.visitor.submit(consent, { decision: 'allow' }),
      () => t.visitor.submit(consent, { decision: 'deny' }),
      () => t.visitor.open(consent.path),
    ]) {
      const sight = await expectRefused(t, 400, act);
      expect(textOf(sight)).toContain('It was already answered');
    }
  });

  it('takes one of two concurrent consent decisions', async () => {
    const { t, consent } = await openConsent();
    const answers = await Promise.all(
      ['allow', 'allow', 'deny', 'allow'].map((decision) => t.visitor.submit(consent, { decision })),
    );
    expect(answers.filter(({ left }) => left !== null)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(3);
  });

  it('keeps transactions in two tabs apart', async () => {
    const t = await setScene();
    const first = await t.visitor.signIn(requestOf({ state: 'first' }));
    const second = await t.visitor.open(requestOf({ state: 'second' }));
    for (const [sight, state] of [
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      const { left } = await t.visitor.submit(sight, { decision: 'allow' });
      expect([left?.searchParams.has('code'), left?.searchParams.get('state')]).toEqual([true, state]);
    }
  });

  it('rejects consent for a client that was removed or changed its redirect URI meanwhile', async () => {
    const { t, consent } = await openConsent();
    const transaction = await t.store.findTransaction(flowOf(consent), t.clock.now);
    if (transaction === null) throw new Error('the transaction is not there');
    const client_id = await t.registerClient({ redirect_uris: ['https://b.example/cb'] });
    const copy = { ...transaction, encryptedState: null };
    await t.store.openTransaction({ ...copy, id: 'flow_gone', clientId: 'client_gone' });
    await t.store.openTransaction({ ...copy, id: 'flow_changed', clientId: client_id });
    const gone = await expectRefused(t, 400, () => t.visitor.open('/consent?flow=flow_gone'));
    expect(textOf(gone)).toContain('This app is not registered here');
    await expectRefused(t, 400, () => t.visitor.open('/consent?flow=flow_changed'));
    await expectStillOpen(t, consent);
  });

  it('rejects consent for a transaction whose encrypted state belongs to another one', async () => {
    const { t, consent } = await openConsent();
    const transaction = await t.store.findTransaction(flowOf(consent), t.clock.now);
    if (transaction === null) throw new Error('the transaction is not there');
    expect(JSON.stringify(transaction)).not.toContain('xyz');
    await t.store.openTransaction({ ...transaction, id: 'flow_other' });
    const sight = await expectRefused(t, 400, () => t.visitor.open('/consent?flow=flow_other'));
    expect(textOf(sight)).toContain('This request is no longer open');
    const { reason } = t.events.findLast(({ type }) => type === 'request.rejected') as { reason?: string };
    expect(reason).toBe('its state cannot be decrypted with the master key or a previous one');
    await expectStillOpen(t, consent);
  });
});

describe('signing out during consent', () => {
  it('signs out on the consent page and lets another user sign in for the same request', async () => {
    const t = await setScene();
    const consent = await t.visitor.signIn(requestOf());
    const old = t.visitor.cookies.get(SESSION) ?? '';
    const login = await t.visitor.submit(consent, { decision: 'switch' });
    expect(login.path).toMatch(/^\/login/);
    expect(t.visitor.cookies.has(SESSION)).toBe(false);
    expect(await t.store.findSession(hashSecret(old), t.clock.now)).toBeNull();
    const again = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect((await t.visitor.submit(again, { decision: 'allow' })).left?.searchParams.has('code')).toBe(true);
  });

  it('asks for sign-in when the session ends during consent', async () => {
    const t = await setScene({ lifetimes: { session: 60 } });
    const consent = await t.visitor.signIn(requestOf());
    t.clock.now += 60;
    expect((await t.visitor.open(consent.path)).path).toMatch(/^\/login/);
    const sight = await expectRefused(t, 403, () => t.visitor.submit(consent, { decision: 'allow' }));
    expect(sight.html).toContain(`href="${consent.path}"`);
  });

  it('signs out only with the page’s CSRF token', async () => {
    const t = await setScene();
    await t.visitor.signIn(requestOf());
    const ready = await t.visitor.open('/setup');
    await expectRefused(t, 403, () => t.visitor.submit(ready, { token: 'x' }));
    expect((await t.visitor.submit(ready, {})).status).toBe(200);
    expect(t.visitor.cookies.has(SESSION)).toBe(false);
  });
});

describe('authorization requests that a browser without a cookie sends at once', () => {
  /** A browser that has received all responses of requests that it sent together. */
  async function openTogether(t: Scene, count: number) {
    const opened = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const one = t.newVisitor();
        const sight = await one.open(requestOf({ state: `tab-${index}` }));
        return { sight, cookies: [...one.cookies] };
      }),
    );
    const visitor = t.newVisitor();
    for (const [name, value] of opened.flatMap(({ cookies }) => cookies)) visitor.cookies.set(name, value);
    return { visitor, sights: opened.map(({ sight }) => sight) };
  }

  it('each end with a code, in any order', async () => {
    const t = await setScene();
    const { visitor, sights } = await openTogether(t, 4);
    const states: (string | null)[] = [];
    for (const [index, sight] of sights.toReversed().entries()) {
      const consent =
        index === 0
          ? await visitor.submit(sight, { email: EMAIL, password: PASSWORD })
          : await visitor.open(sight.path);
      const { left } = await visitor.submit(consent, { decision: 'allow' });
      if (left?.searchParams.has('code')) states.push(left.searchParams.get('state'));
    }
    expect(states).toEqual(['tab-3', 'tab-2', 'tab-1', 'tab-0']);
  });

  it('are refused in another browser, whatever cookies of its own that has', async () => {
    const t = await setScene();
    const { sights } = await openTogether(t, 2);
    const { visitor: other } = await openTogether(t, 3);
    for (const { path } of sights) await expectRefused(t, 403, () => other.open(path));
  });

  it('leave at most eight cookies once another request follows, of which the oldest are removed', async () => {
    const t = await setScene();
    const { visitor, sights } = await openTogether(t, 12);
    const cookies = () => [...visitor.cookies.keys()].filter((name) => name.startsWith(BROWSER));
    const before = cookies();
    expect(before).toHaveLength(12);
    await visitor.open(requestOf());
    // The new transaction is bound to the first of them.
    expect(cookies()).toEqual([before[0], ...before.slice(-7)]);
    await expectRefused(t, 403, () => visitor.open(sights[1]?.path ?? ''));
    expect((await visitor.open(sights[11]?.path ?? '')).status).toBe(200);
  });
});

describe('session cookies', () => {
  it('T071: cookies over https have the __Host- prefix, HttpOnly, Secure and SameSite', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    const [browser, session] = [...login.trail, ...consent.trail].flatMap(({ headers }) =>
      headers.getSetCookie(),
    );
    const attributes = 'Path=/; HttpOnly; SameSite=Lax; Secure';
    expect(browser).toMatch(new RegExp(`^${BROWSER}[\\w-]{8}=[\\w-]{43}; Max-Age=600; ${attributes}$`));
    expect(session).toMatch(new RegExp(`^${SESSION}=[\\w-]{43}; Max-Age=1209600; ${attributes}$`));
  });

  it('T071: ignores cookies without the __Host- prefix over https', async () => {
    const t = await setScene();
    const consent = await t.visitor.signIn(requestOf());
    t.visitor.cookies.set('portcullis-443-session', t.visitor.cookies.get(SESSION) ?? '');
    t.visitor.cookies.delete(SESSION);
    expect((await t.visitor.open(consent.path)).path).toMatch(/^\/login/);
  });

  it('each sign-in sets a new session cookie and ends the old session (session fixation)', async () => {
    const t = await setScene();
    const planted = 'p'.repeat(43);
    t.visitor.cookies.set(SESSION, planted);
    await t.visitor.signIn(requestOf());
    const first = t.visitor.cookies.get(SESSION) ?? '';
    expect(first).not.toBe(planted);
    const login = await t.visitor.open(requestOf({ prompt: 'login' }));
    await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    const second = t.visitor.cookies.get(SESSION) ?? '';
    expect(second).not.toBe(first);
    expect(await t.store.findSession(hashSecret(first), t.clock.now)).toBeNull();
    expect(await t.store.findSession(hashSecret(second), t.clock.now)).not.toBeNull();
  });

  it('stores session cookies only as hashes, and logs none', async () => {
    const t = await setScene();
    const { left } = await decide(t.visitor, requestOf());
    const secrets = [...t.visitor.cookies.values(), left?.searchParams.get('code') ?? '', PASSWORD];
    expect(secrets.map((secret) => secret.length > 20)).toEqual([true, true, true, true, true]);
    for (const secret of secrets) {
      expect(t.snapshot()).not.toContain(secret);
      expect(JSON.stringify(t.events)).not.toContain(secret);
    }
  });
});
