/** The account pages: connections (grants) and sessions, listed and ended. */
import { describe, expect, it, vi } from 'vitest';
import { costHere } from '../../../tests/support/cost.ts';
import { createLayout, type Layout } from '../src/ui/layout.ts';
import { type Language, languages } from '../src/ui/texts/languages.ts';
import { describeDuration, describeTimeAgo } from '../src/ui/times.ts';
import { parseBrowserName } from '../src/users/browser-name.ts';
import { claimsOf, FILES, redemption, refreshing } from './server-under-test.ts';
import {
  createVisitor,
  decide,
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

interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly grantId: string;
}

const CODE = {
  accountId: 'user_ada',
  redirectUri: null,
  codeChallenge: 'x',
  scopes: ['notes:read'],
  resources: ['https://mcp.example/notes'],
  workspace: null,
  consentDigest: 'x',
} as const;

/** Connects an app that registered dynamically, from its own IP address. */
async function connect(t: Scene, client_name: string, more: Record<string, string> = {}): Promise<Tokens> {
  const redirect_uri = 'http://127.0.0.1:51004/cb';
  const client_id = await t.registerClient({
    client_name,
    redirect_uris: [redirect_uri],
    grant_types: ['authorization_code', 'refresh_token'],
  });
  const { left } = await decide(t.visitor, requestOf({ client_id, redirect_uri, ...more }));
  const form = redemption(left?.searchParams.get('code') ?? '', VERIFIER, client_id);
  return tokensOf(await postFrom(t, '203.0.113.9', form));
}

async function postFrom(
  t: Scene,
  address: string,
  form: Record<string, string>,
): Promise<Record<string, unknown>> {
  const request = new Request('https://as.example/token', {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const response = await t.server.handle(request, { address });
  return (await response.json()) as Record<string, unknown>;
}

function tokensOf(body: Record<string, unknown>): Tokens {
  const access = String(body['access_token']);
  return { access, refresh: String(body['refresh_token']), grantId: String(claimsOf(access)['grant_id']) };
}

async function isLive(t: Scene, { access }: Tokens): Promise<boolean> {
  return t.server.isLive(claimsOf(access) as unknown as Parameters<Scene['server']['isLive']>[0]);
}

/** Opens an account page, logging in first. */
async function visitHome(visitor: Visitor, path: string, email = EMAIL): Promise<Sight> {
  const sight = await visitor.open(path);
  return sight.path.startsWith('/login') ? visitor.submit(sight, { email, password: PASSWORD }) : sight;
}

function endLinks({ html }: Sight): readonly string[] {
  return [...html.matchAll(/href="(\/connections\/end\?connection=[^"]+)"/g)].map(([, href = '']) => href);
}

describe('logging in for an account page', () => {
  it('a login without an app leads to the connections, or to the requested account page', async () => {
    const t = await setScene();
    const login = await t.visitor.open('/login');
    expect([login.status, textOf(login)]).toEqual([
      200,
      expect.stringContaining('to see what has access to your account'),
    ]);
    const sight = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect([sight.path, sight.status]).toEqual(['/connections', 200]);
    expect((await t.visitor.open('/login')).path).toBe('/connections');
    expect((await visitHome(t.newVisitor(), '/account')).path).toBe('/account');
  });

  it('the login page says whether it leads to connections, to the account, or confirms an important change', async () => {
    const t = await setScene();
    const account = await t.visitor.open('/account');
    expect([account.path, textOf(account)]).toEqual([
      '/login?to=account',
      expect.stringContaining('Sign in to manage your account Email'),
    ]);
    expect(textOf(await t.visitor.open('/connections'))).toContain('to see what has access to your account');
    await t.visitor.submit(account, { email: EMAIL, password: PASSWORD });
    expect((await t.visitor.open('/account/remove')).path).toBe('/account/remove');
    t.clock.now += 900;
    const again = await t.visitor.open('/account/remove');
    expect(textOf(again)).toContain('Sign in again to change your account settings');
    const signedOut = await t.newVisitor().open('/account/remove');
    expect(textOf(signedOut)).toContain('Sign in to manage your account');
    t.visitor.headers = { 'accept-language': 'de' };
    expect(textOf(await t.visitor.open('/account/remove'))).toContain(
      'erneut, um Ihre Kontoeinstellungen zu ändern',
    );
  });

  it('a login leads to no other page (open redirect)', async () => {
    const t = await setScene();
    for (const to of ['https://evil.example', '//evil.example', '/connections/end', 'constructor', '']) {
      const visitor = t.newVisitor();
      const login = await visitor.open(`/login?to=${encodeURIComponent(to)}`);
      expect((await visitor.submit(login, { email: EMAIL, password: PASSWORD })).path).toBe('/connections');
    }
  });

  it('T067: a login form of another browser or from another site is rejected', async () => {
    const t = await setScene();
    const login = await t.newVisitor().open('/login');
    const before = t.snapshot();
    const noCookie = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect(noCookie.status).toBe(403);
    await t.visitor.open('/login');
    const otherBrowser = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect([otherBrowser.status, textOf(otherBrowser)]).toEqual([
      403,
      expect.stringContaining('Sign in again'),
    ]);
    const own = await t.visitor.open('/login');
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    expect((await t.visitor.submit(own, { email: EMAIL, password: PASSWORD })).status).toBe(403);
    expect(t.snapshot()).toBe(before);
    t.visitor.headers = {};
    expect((await t.visitor.submit(own, { email: EMAIL, password: PASSWORD })).path).toBe('/connections');
  });
});

describe('connections', () => {
  it('connections are listed with app, server, permissions, and time and address of last use', async () => {
    const t = await setScene();
    await connect(t, 'Notes <b>CLI</b>', { scope: 'notes:read notes:write' });
    t.clock.now += 180;
    const sight = await visitHome(t.visitor, '/connections');
    const text = textOf(sight);
    for (const words of [
      'Notes <b>CLI</b>',
      'on Notes · Used 3 minutes ago from 203.0.113.9 mcp.example/notes · not verified',
      'Read your notes',
      'Change your notes',
      'allowed on 15 January 2027 at 08:00 UTC',
    ]) {
      expect(text).toContain(words);
    }
    expect(text).not.toMatch(/scope|grant|client|authoriz/i);
  });

  it('connections of many grants are paged, each shown once, and every page is small', async () => {
    const t = await setScene();
    const { grantId } = await connect(t, 'First');
    const found = await t.store.findGrant(grantId);
    if (found === null) throw new Error('no grant');
    const { revokedAt: _revokedAt, hasAccount: _hasAccount, ...grant } = found.grant;
    for (let number = 0; number < 120; number += 1) {
      const code = {
        ...CODE,
        hash: `code-${number}`,
        grantId: `grant-${number}`,
        clientId: `web-${number % 3}`,
      };
      await t.store.issueCode({ ...code, issuedAt: t.clock.now, expiresAt: t.clock.now + 60 });
      const record = { ...grant, id: code.grantId, clientId: code.clientId };
      expect(await t.store.redeemCode(code.hash, record, null, t.clock.now)).toBe('redeemed');
    }
    const seen: string[] = [];
    let sight = await visitHome(t.visitor, '/connections');
    for (let pages = 1; pages <= 3; pages += 1) {
      const links = endLinks(sight);
      expect(links.length).toBeLessThanOrEqual(50);
      seen.push(...links);
      const next = /<a rel="next" href="([^"]+)"/.exec(sight.html)?.[1];
      expect(next === undefined).toBe(pages === 3);
      if (next !== undefined) sight = await t.visitor.open(next.replaceAll('&amp;', '&'));
    }
    expect([seen.length, new Set(seen).size]).toEqual([121, 121]);
    expect(textOf(sight)).toContain('Show all');
    // A cursor that this server did not make begins at the start.
    for (const after of ['x', 'W10', 'eyJhIjoxfQ', Buffer.from('["\\u0000",1,""]').toString('base64url')]) {
      expect(endLinks(await t.visitor.open(`/connections?after=${after}`))).toHaveLength(50);
    }
  });

  it('connections are found by the name of the app or server, without a script', async () => {
    const t = await setScene();
    for (const name of ['Notes CLI', 'Desk', 'Désk two', ...'abcdefg']) await connect(t, name);
    const all = await visitHome(t.visitor, '/connections');
    expect(all.html).toContain('<form class="search" method="get" action="/connections" role="search">');
    const found = await t.visitor.open('/connections?q=dEsk');
    expect([endLinks(found).length, textOf(found).includes('Notes CLI')]).toEqual([1, false]);
    const none = await t.visitor.open('/connections?q=%22%3E%3Cscript%3E');
    expect(textOf(none)).toContain('No connection found here. Show all');
    expect(none.html).toContain('value="&quot;&gt;&lt;script&gt;"');
    expect(none.html).not.toContain('<script>');
  });

  it('connections of the same app are grouped, and apps of the same name by another publisher are not', async () => {
    const t = await setScene();
    for (const name of ['Inspector', 'Inspector', 'Desk']) await connect(t, name);
    const sight = await visitHome(t.visitor, '/connections');
    expect(textOf(sight)).toMatch(/Inspector 2 connections · Used just now Inspector on Notes/);
    const ids = [...sight.html.matchAll(/not verified \(<code>([\w-]{6})<\/code>\)/g)].map(([, id]) => id);
    expect([ids.length, new Set(ids).size]).toEqual([3, 3]);
    expect(sight.html.match(/<details/g)).toHaveLength(4);
  });

  it('the least recently used connection ends when a user has 200 of one client', async () => {
    const t = await setScene();
    const { grantId } = await connect(t, 'Robot');
    const found = await t.store.findGrant(grantId);
    if (found === null) throw new Error('no grant');
    const { revokedAt: _revokedAt, hasAccount: _hasAccount, ...grant } = found.grant;
    const code = { ...CODE, clientId: grant.clientId, issuedAt: t.clock.now, expiresAt: t.clock.now + 60 };
    for (let number = 0; number < 199; number += 1) {
      await t.store.issueCode({ ...code, hash: `code-${number}`, grantId: `grant-${number}` });
      const record = { ...grant, id: `grant-${number}`, lastUsedAt: grant.lastUsedAt + 1 };
      await t.store.redeemCode(`code-${number}`, record, null, t.clock.now);
    }
    const live = async () =>
      (await t.store.listGrants('user_ada', t.clock.now, null, 500)).map(({ id }) => id);
    expect((await live()).length).toBe(200);
    t.clock.now += 5;
    const failing = vi.spyOn(t.store, 'revokeSurplusGrants').mockRejectedValueOnce(new Error('away'));
    const first = { client_id: grant.clientId, redirect_uri: 'http://127.0.0.1:51004/cb' };
    expect((await decide(t.visitor, requestOf(first))).left?.searchParams.has('code')).toBe(true);
    expect((await live()).length).toBe(200);
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'request.failed', endpoint: '/consent' }),
    );
    failing.mockRestore();
    const again = { client_id: grant.clientId, redirect_uri: 'http://127.0.0.1:51004/cb' };
    expect((await decide(t.visitor, requestOf(again))).left?.searchParams.has('code')).toBe(true);
    expect([(await live()).length, (await live()).includes(grantId)]).toEqual([199, false]);
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'grant.revoked', count: 1, reason: 'surplus', accountId: 'user_ada' }),
    );
  });

  it('the connections page explains itself when it is empty', async () => {
    const t = await setScene();
    expect(textOf(await visitHome(t.visitor, '/connections'))).toContain(
      'No app has access to your account.',
    );
  });

  it('a refresh updates time and address of last use', async () => {
    const t = await setScene();
    const { refresh } = await connect(t, 'CLI');
    const client_id = (await t.store.listGrants('user_ada', t.clock.now, null, 100))[0]?.clientId ?? '';
    t.clock.now += 30;
    const second = tokensOf(await postFrom(t, '203.0.113.9', refreshing(refresh, client_id)));
    const used = async () =>
      (await t.store.listGrants('user_ada', t.clock.now, null, 100)).map(({ lastUsedAt, lastUsedFrom }) => [
        t.clock.now - lastUsedAt,
        lastUsedFrom,
      ]);
    expect(await used()).toEqual([[0, '203.0.113.9']]);
    t.clock.now += 10;
    const third = tokensOf(await postFrom(t, '203.0.113.10', refreshing(second.refresh, client_id)));
    expect(await used()).toEqual([[0, '203.0.113.10']]);
    t.clock.now += 600;
    await postFrom(t, '203.0.113.10', refreshing(third.refresh, client_id));
    expect(await used()).toEqual([[0, '203.0.113.10']]);
  });

  it('a connection disappears when none of its tokens can be used', async () => {
    const t = await setScene();
    await connect(t, 'Idle');
    t.clock.now += 30 * 86_400 - 60;
    expect(textOf(await visitHome(t.visitor, '/connections'))).toContain('Idle');
    t.clock.now += 180;
    expect(textOf(await visitHome(t.visitor, '/connections'))).not.toContain('Idle');
  });

  it('T095: removing access revokes one grant with all its tokens at once, after a confirmation', async () => {
    const t = await setScene();
    const [ended, kept] = [await connect(t, 'First'), await connect(t, 'Second')];
    const list = await visitHome(t.visitor, '/connections');
    const link = endLinks(list).find((href) => href.includes(ended.grantId)) ?? '';
    const question = await t.visitor.open(link);
    expect(textOf(question)).toContain('Remove access for First ?');
    expect(textOf(question)).toContain('it will no longer be able to Read your notes');
    expect(textOf(question)).toContain('can keep working for up to 10 minutes');
    expect(await isLive(t, ended)).toBe(true);

    const after = await t.visitor.submit(question, {});
    expect([after.path, textOf(after).includes('Access has been removed.')]).toEqual([
      '/connections?ended=one',
      true,
    ]);
    expect(endLinks(after)).toHaveLength(1);
    expect([await isLive(t, ended), await isLive(t, kept)]).toEqual([false, true]);
    const [{ clientId = '' } = {}] = await t.store.listGrants('user_ada', t.clock.now, null, 100);
    const refreshed = await t.post('/token', refreshing(kept.refresh, clientId));
    expect(refreshed.status).toBe(200);
    expect(t.events).toContainEqual(
      expect.objectContaining({
        type: 'grant.revoked',
        accountId: 'user_ada',
        count: 1,
        grantId: ended.grantId,
      }),
    );
    // The question of another tab is answered by the list.
    expect((await t.visitor.open(link)).path).toBe('/connections');
    expect((await t.visitor.submit(question, {})).path).toBe('/connections?ended=one');
  });

  it('T095: a refresh token is rejected as soon as its connection is removed', async () => {
    const t = await setScene();
    const { refresh, grantId } = await connect(t, 'App');
    const [{ clientId = '' } = {}] = await t.store.listGrants('user_ada', t.clock.now, null, 100);
    await visitHome(t.visitor, '/connections');
    await t.visitor.submit(await t.visitor.open(`/connections/end?connection=${grantId}`), {});
    const { status, body } = await t.post('/token', refreshing(refresh, clientId));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('all connections are removed at once, together with codes not yet redeemed', async () => {
    const t = await setScene();
    const all = [await connect(t, 'First'), await connect(t, 'Second', { resource: FILES })];
    const { code, verifier } = await t.issueCode();
    await visitHome(t.visitor, '/connections');
    const question = await t.visitor.open('/connections/end');
    expect(textOf(question)).toContain('Second on Files');
    const after = await t.visitor.submit(question, {});
    expect(textOf(after)).toContain('All access has been removed. No app has access');
    expect(await Promise.all(all.map((tokens) => isLive(t, tokens)))).toEqual([false, false]);
    expect((await t.post('/token', redemption(code, verifier))).status).toBe(400);
  });

  it.each([
    ['en', 0, 'Access ends immediately.'],
    ['en', 10, 'Access it already has can keep working for up to 10 seconds.'],
    ['de', 0, 'Der Zugriff endet sofort.'],
    ['de', 10, '10 Sekunden'],
    ['en', undefined, 'up to 10 minutes'],
    // A token lives no longer, whatever a guard does.
    ['en', 86_400, 'up to 10 minutes'],
  ])(
    'the connections page says in %s how soon a server with a revocation delay of %s notices',
    async (language, revocationDelay, said) => {
      const t = await setScene({
        resources: [
          {
            resource: 'https://mcp.example/notes',
            name: 'Notes',
            scopes: { 'notes:read': 'Read your notes' },
            ...(revocationDelay !== undefined && { revocationDelay }),
          },
        ],
        clients: [],
      });
      const { grantId } = await connect(t, 'App');
      await visitHome(t.visitor, '/connections');
      t.visitor.headers = { 'accept-language': language };
      expect(textOf(await t.visitor.open(`/connections/end?connection=${grantId}`))).toContain(said);
    },
  );

  it('T067: only the owner can remove a connection, and only with a CSRF token', async () => {
    const t = await setScene();
    const mine = await connect(t, 'Mine');
    await visitHome(t.visitor, '/connections');
    const question = await t.visitor.open(`/connections/end?connection=${mine.grantId}`);
    const before = t.snapshot();
    const attempts: readonly (() => Promise<Sight>)[] = [
      () => t.visitor.submit(question, { token: undefined }),
      () => t.visitor.submit(question, { token: 'x' }),
      () => createVisitor(t.server).submit(question, {}),
      async () => {
        t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
        const sight = await t.visitor.submit(question, {});
        t.visitor.headers = {};
        return sight;
      },
      // Neither one nor all.
      () => t.visitor.submit(question, { connection: undefined }),
      () => t.visitor.submit(question, { connection: 'grant_of_another_user' }),
      () => t.visitor.open('/connections/end?all=yes', { method: 'HEAD' }),
    ];
    for (const attempt of attempts) {
      await attempt();
      expect(t.snapshot()).toBe(before);
    }
    await t.visitor.submit(question, {});
    expect(await isLive(t, mine)).toBe(false);
  });
});

describe('sessions', () => {
  const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

  async function three(t: Scene): Promise<readonly [Visitor, Visitor, Visitor]> {
    const visitors = [t.visitor, t.newVisitor('198.51.100.7'), t.newVisitor('198.51.100.8')] as const;
    visitors[1].headers = firefox;
    for (const visitor of visitors) await visitHome(visitor, '/account');
    return visitors;
  }

  it('sessions are listed with browser and address, the current one marked', async () => {
    const t = await setScene();
    const [mine] = await three(t);
    const text = textOf(await mine.open('/account'));
    const since = 'since 15 January 2027 at 08:00 UTC from';
    expect(text).toContain(`Firefox on Linux ${since} 198.51.100.7`);
    expect(text).toContain(`A browser this browser ${since} 192.0.2.1`);
    expect(text.match(/since/g)).toHaveLength(3);
  });

  it('sessions that look alike show seconds, and each button says which one it ends', async () => {
    const t = await setScene();
    await visitHome(t.visitor, '/account');
    for (const seconds of [5, 10, 3600]) {
      t.clock.now += seconds;
      const other = t.newVisitor();
      other.headers = firefox;
      await visitHome(other, '/account');
    }
    const { html } = await t.visitor.open('/account');
    const said = [...html.matchAll(/<p class="fact" id="([^"]+)">since <time[^>]*>[^<]+ at (.+?) UTC</g)];
    expect(said.map(([, , time]) => time)).toEqual(['08:00', '09:00', '08:00:15', '08:00:05']);
    const buttons = [...html.matchAll(/aria-label="Sign out Firefox on Linux" aria-describedby="([^"]+)"/g)];
    expect(buttons.map(([, id]) => id)).toEqual(said.slice(1).map(([, id]) => id));
  });

  it('sessions end one by one or all others at once, and only the owner’s', async () => {
    const t = await setScene();
    const [mine, other, third] = await three(t);
    const [, { hash = '' } = {}] = (await t.store.listSessions('user_ada', t.clock.now)).filter(
      ({ address }) => address !== '192.0.2.1',
    );
    const page = await mine.open('/account');
    const before = t.snapshot();
    await mine.submit(page, { session: 'x'.repeat(43) }, '/account/sessions');
    await mine.submit(page, { session: hash, token: 'x' }, '/account/sessions');
    expect(t.snapshot()).toBe(before);

    const after = await mine.submit(page, { session: hash }, '/account/sessions');
    expect(textOf(after)).toContain('Signed out.');
    expect(await t.store.listSessions('user_ada', t.clock.now)).toHaveLength(2);
    await mine.submit(page, { session: 'others' }, '/account/sessions');
    expect((await mine.open('/account')).path).toBe('/account');
    for (const visitor of [other, third])
      expect((await visitor.open('/account')).path).toBe('/login?to=account');
  });

  it('a GET of /logout ends no session, but shows a button', async () => {
    const t = await setScene();
    const [mine] = await three(t);
    const before = t.snapshot();
    const page = await mine.open('/logout');
    expect([page.status, textOf(page)]).toEqual([200, expect.stringContaining(`Signed in as ${EMAIL}`)]);
    const forged = await mine.submit(page, { token: 'x' });
    expect(forged.status).toBe(403);
    expect(forged.html).toContain('<a class="button" href="/logout">');
    expect(t.snapshot()).toBe(before);
    expect(textOf(await mine.submit(page, {}))).toContain('You are signed out');
    expect((await mine.open('/account')).path).toBe('/login?to=account');
    expect(textOf(await mine.open('/logout'))).toContain('You are signed out');
  });

  it('logout ends the session', async () => {
    const t = await setScene();
    const [mine] = await three(t);
    const page = await mine.open('/account');
    const out = await mine.submit(page, {}, '/logout');
    expect(textOf(out)).toContain('You are signed out');
    expect(out.html).toContain('<a class="button" href="/account">Sign in</a>');
    expect((await mine.open('/connections')).path).toBe('/login?to=connections');
  });
});

describe('parseBrowserName', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';
  it.each([
    [firefoxOn('Windows NT 10.0; Win64; x64'), 'Firefox on Windows'],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/141.0.0.0 Safari/537.36`,
      'Chrome on Mac',
    ],
    [`Mozilla/5.0 (Windows NT 10.0) ${webkit} Chrome/141.0.0.0 Safari/537.36 Edg/141.0`, 'Edge on Windows'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari on iPhone',
    ],
    [`Mozilla/5.0 (Linux; Android 15) ${webkit} Chrome/141.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
    ['curl/8.0', null],
    ['<script>', null],
    [null, null],
  ])('parseBrowserName reads a user agent: %s', (given, expected) => {
    expect(parseBrowserName(given)).toBe(expected);
  });

  it('parseBrowserName is fast for a header of digits', () => {
    const hostile = `Version/${'1'.repeat(100_000)}`;
    expect(costHere(() => expect(parseBrowserName(hostile)).toBe(null))).toBeLessThan(200);
  });
});

function firefoxOn(system: string): string {
  return `Mozilla/5.0 (${system}; rv:140.0) Gecko/20100101 Firefox/140.0`;
}

function layoutIn(language: Language): Layout {
  const mounting = {
    serverName: 'x',
    stylesheet: '',
    script: '',
    logo: null,
    favicon: '',
    links: [],
    approvals: false,
  };
  return createLayout(mounting, language, languages);
}

describe('times in words', () => {
  it.each([
    [0, 'just now'], [-5, 'just now'], [59, 'just now'], [60, '1 minute ago'], [3599, '59 minutes ago'], [7200, '2 hours ago'],
    [86_400, '1 day ago'], [13 * 86_400, '13 days ago'], [14 * 86_400, 'on 1 January 2027'],
  ])('a time %i seconds ago is written as: %s', (passed, words) => {
    expect(describeTimeAgo(layoutIn('en'), 1_800_000_000 - passed, 1_800_000_000)).toBe(words);
  }); // biome-ignore format: a table

  it.each([
    [1, '1 second'],
    [600, '10 minutes'],
    [3600, '1 hour'],
    [90_000, '1 day'],
  ])('a duration of %i seconds is written as: %s', (seconds, words) => {
    expect(describeDuration(seconds, 'en')).toBe(words);
  });

  it('times are formatted in German', () => {
    const passed = [0, 60, 7200, 13 * 86_400, 14 * 86_400];
    expect(
      passed.map((seconds) => describeTimeAgo(layoutIn('de'), 1_800_000_000 - seconds, 1_800_000_000)),
    ).toEqual(['gerade eben', 'vor 1 Minute', 'vor 2 Stunden', 'vor 13 Tagen', 'am 1. Januar 2027']);
    expect(describeDuration(600, 'de')).toBe('10 Minuten');
  });
});
