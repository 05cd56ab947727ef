/** The login page with identity providers: beside the local form or instead of it, with a form-action of this origin only. */
import { describe, expect, it, vi } from 'vitest';
import { inSession } from '../../store/testing/samples.ts';
import { type AuthorizationServerOptions, createAccountAdministration } from '../src/index.ts';
import { ACCOUNT } from './server-under-test.ts';
import { EMAIL, referenceOf, requestOf, setScene, textOf, type Visitor } from './visitor.ts';

type IdentityProvider = NonNullable<AuthorizationServerOptions['identityProviders']>[number];

const party = (id: string, name: string): IdentityProvider => ({
  id,
  name,
  clientId: 'us',
  clientSecret: 'a secret between us',
  scopes: ['read:user'],
  kind: {
    endpoints: {
      authorization: `https://${id}.example/authorize`,
      token: `https://${id}.example/token`,
      userinfo: `https://${id}.example/user`,
    },
    userinfoClaims: { subject: 'id' },
  },
});

const two = [party('hub', 'Hub'), party('desk', '<b>Desk</b>')];

describe('the login page', () => {
  it('the login page offers identity providers first, as buttons that post to this server, and then asks for the address', async () => {
    const t = await setScene({ identityProviders: two });
    const page = await t.visitor.open(requestOf());
    expect(textOf(page)).toMatch(
      /Continue with Hub Continue with <b>Desk<\/b> or Email Continue .*Cancel and go back to web/,
    );
    expect(page.html).not.toContain('name="password"');
    expect(page.html.match(/formaction="[^"]+"/g)).toEqual([
      'formaction="/login/hub"',
      'formaction="/login/desk"',
    ]);
    expect(page.html).not.toContain('<b>Desk');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self';");
  });

  it('with local accounts alone, one page has the address and the password', async () => {
    const t = await setScene();
    const page = await t.visitor.open(requestOf());
    expect(textOf(page)).toMatch(/Email Password Show password Forgot your password\? Sign in /);
  });

  it('while there is no local account, the identity provider is the way, and the form of the address is folded', async () => {
    const t = await setScene({ identityProviders: [party('hub', 'Hub')] });
    await t.store.removeAccount(ACCOUNT, t.clock.now);
    const page = await t.visitor.open('/login?to=account');
    expect(page.html).toContain('class="button provider main" formaction="/login/hub"');
    expect(page.html).toMatch(
      /<details><summary class="link">Sign in with your email instead<\/summary>.*name="email"/s,
    );
  });

  it('while there is no account and no identity provider, the page says so instead of asking for a password', async () => {
    const t = await setScene();
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    const form = await t.visitor.open('/login?to=account');
    expect(form.html).toContain('name="password"');
    await t.store.removeAccount(ACCOUNT, t.clock.now);
    const page = await t.visitor.open('/login?to=account');
    expect([textOf(page), page.html.includes('<form')]).toEqual([
      expect.stringContaining('There is no account here yet.'),
      false,
    ]);
    const tried = await t.visitor.submit(form, { email: EMAIL, password: 'not this one' }, '/login');
    expect([tried.status, textOf(tried)]).toEqual([400, expect.stringContaining('no account here yet')]);
    expect(textOf(await t.visitor.open(requestOf()))).toContain('Cancel and go back to web');
  });

  it.each([
    ['of an account', EMAIL],
    ['without an account', 'unknown@example.org'],
    ['that is none', 'not an address'],
  ])(
    'T075: after an address %s, the page asks for the password without looking for an account',
    async (_description, email) => {
      const t = await setScene({ identityProviders: two });
      const login = await t.visitor.open(requestOf());
      const lookUps = vi.spyOn(t.store, 'findAccountByEmail');
      const page = await t.visitor.submit(login, { email }, '/login');
      expect(lookUps).not.toHaveBeenCalled();
      expect([page.status, textOf(page).replace(email, '…')]).toEqual([
        200,
        expect.stringMatching(
          /^as.example Sign in to continue to web … Change Password Show password .*Sign in No passkey was used.* or Continue with Hub Continue with <b>Desk/,
        ),
      ]);
      const wrong = await t.visitor.submit(page, { email, password: 'not this one' }, '/login');
      expect([wrong.status, textOf(wrong)]).toEqual([
        400,
        expect.stringContaining('Incorrect email or password.'),
      ]);
    },
  );

  it('the domain of an address selects its identity provider, whether or not there is an account', async () => {
    const company = { ...party('work', 'Work'), allowedUsers: { emailDomains: ['Example.org'] } };
    const t = await setScene({ identityProviders: [...two, company] });
    for (const email of [EMAIL, 'unknown@example.org']) {
      const page = await t.visitor.submit(await t.visitor.open(requestOf()), { email }, '/login');
      expect(textOf(page)).toMatch(/Continue with Work Continue with Hub .* or .* Password/);
      expect(page.html).toContain('class="button provider main" formaction="/login/work"');
    }
    const other = await t.visitor.submit(
      await t.visitor.open(requestOf()),
      { email: 'a@notexample.org' },
      '/login',
    );
    expect(other.html).not.toContain('provider main');
  });

  it('T075: a passkey is offered first only in a browser that has signed in to its account', async () => {
    const t = await setScene({ identityProviders: two });
    await t.visitor.signIn('/login?to=account');
    await inSession(t.store, ACCOUNT, (session) =>
      t.store.addPasskey(
        {
          id: 'passkey-1',
          accountId: ACCOUNT,
          publicKey: 'unused',
          counter: 0,
          transports: [],
          name: 'Phone',
          createdAt: t.clock.now,
          lastUsedAt: null,
        },
        session,
      ),
    );
    const firstButton = async (visitor: Visitor) => {
      const login = await visitor.open('/login?to=account&again=yes');
      const page = await visitor.submit(login, { email: EMAIL }, '/login');
      return /<form[^>]*action="(\/login[^"]*)"/.exec(page.html)?.[1];
    };
    expect(await firstButton(t.newVisitor())).toBe('/login');
    t.clock.now += 3_600;
    expect(await firstButton(t.visitor)).toBe('/login/passkey');
  });

  it('a user who cancels on the login page returns to the app, which is told, and the page names both', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const before = t.snapshot();
    const forged = await t.visitor.submit(login, { token: 'x' }, '/login/cancel');
    expect([forged.status, t.snapshot()]).toEqual([403, before]);
    const cancelled = await t.visitor.submit(login, {}, '/login/cancel');
    expect(textOf(cancelled)).toContain('web was not connected It gets no access to Notes.');
    expect([cancelled.left?.origin, cancelled.left?.searchParams.get('error')]).toEqual([
      'https://app.example',
      'access_denied',
    ]);
  });

  it('after the account was created, the page has the address of the server and what hosts need', async () => {
    const t = await setScene();
    await t.visitor.signIn(requestOf());
    const ready = await t.visitor.open('/setup');
    expect(textOf(ready)).toContain(
      'Notes https://mcp.example/notes Copy Add to Cursor Add to VS Code How to add it',
    );
    expect(ready.html).toContain(
      `href="cursor://anysphere.cursor-deeplink/mcp/install?name=notes&amp;config=${encodeURIComponent(btoa('{"url":"https://mcp.example/notes"}'))}"`,
    );
    expect(ready.html).toContain(
      `href="vscode:mcp/install?${encodeURIComponent('{"name":"notes","type":"http","url":"https://mcp.example/notes"}')}"`,
    );
    const snippets = [...ready.html.matchAll(/data-copy="([^"]*)"/g)].map(([, text = '']) =>
      text.replaceAll('&quot;', '"'),
    );
    expect(snippets).toContain('claude mcp add --transport http notes https://mcp.example/notes');
    const files = snippets.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text));
    expect(files.slice(0, 2)).toEqual([
      { mcpServers: { notes: { url: 'https://mcp.example/notes' } } },
      { servers: { notes: { type: 'http', url: 'https://mcp.example/notes' } } },
    ]);
  });

  it('the front page has what the page after setup has, and escapes the names of servers', async () => {
    const t = await setScene({
      resources: [{ resource: 'https://mcp.example/notes', name: '"><script>x', scopes: { read: 'Read' } }],
    });
    const front = await t.server.frontPage(new Request('https://as.example/'));
    const html = await new Response(front.body).text();
    expect(html).toContain('data-copy="https://mcp.example/notes"');
    expect(html).toContain('Add this address to an app.');
    const several = await (await setScene()).server.frontPage(new Request('https://as.example/'));
    expect(await new Response(several.body).text()).toContain('Add one of these addresses to an app.');
    expect(html.match(/href="(?:cursor:|vscode:)[^"]+"/g)).toEqual([
      expect.stringMatching(
        /^href="cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install\?name=script-x&amp;config=[\w%]+"$/,
      ),
      expect.stringMatching(/^href="vscode:mcp\/install\?[\w%.-]+"$/),
    ]);
    expect(html).not.toMatch(/<script(?! src="\/assets\/)/);
  });

  it('redirects /favicon.ico to the icon of the pages', async () => {
    const t = await setScene();
    const { status, headers } = await t.server.missingPage(new Request('https://as.example/favicon.ico'));
    expect([status, headers['location']]).toEqual([302, expect.stringMatching(/^\/assets\/[\w-]{16}\.svg$/)]);
    const icon = await t.visitor.open(headers['location'] ?? '');
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect((await t.server.missingPage(new Request('https://as.example/favicon'))).status).toBe(404);
  });

  it('an error page says who has to act, and has a button that copies the reference', async () => {
    const t = await setScene();
    const page = await t.visitor.open(requestOf({ client_id: 'unknown' }));
    expect(textOf(page)).toContain('You can fix this This app is not registered here');
    expect(page.html).toContain(`data-copy="${referenceOf(page)}"`);
    const invalid = await t.visitor.open(
      requestOf({ response_type: 'token', redirect_uri: 'https://evil.example/' }),
    );
    expect(textOf(invalid)).toContain('The app’s developer has to fix this This request is not valid');
  });

  it('the login page says who can help with a forgotten password, and leads back', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf());
    const link = /href="(\/login\/forgotten\?[^"]+)"/.exec(login.html)?.[1] ?? '';
    const page = await t.visitor.open(link.replaceAll('&amp;', '&'));
    expect(textOf(page)).toContain('Ask your administrator for a link');
    expect(textOf(page)).toContain('portcullis users reset your-email');
    expect(page.html).toContain(`href="${login.path}"`);
  });

  it('the login page offers only identity providers when there are no local accounts', async () => {
    const t = await setScene({ identityProviders: two, localAccounts: false });
    const page = await t.visitor.open('/login');
    expect(page.html).not.toMatch(/name="password"|<script/);
    expect(textOf(page)).toContain('Continue with Hub');
    expect(textOf(page)).not.toContain(' or ');
  });

  it('creates no account with a password when there are no local accounts, and honours no link to one', async () => {
    const t = await setScene({ identityProviders: two, localAccounts: false });
    const { issuer, accounts } = t.server;
    // As a server with local accounts created it before.
    const context = { issuer, store: t.store, clock: () => t.clock.now, events: () => {} };
    const made = await createAccountAdministration(context).add('bob@example.org');
    const { pathname, search } = new URL('link' in made ? made.link : '');
    const before = t.snapshot();
    expect(await accounts.add('eve@example.org')).toEqual({ refused: 'no-local-accounts' });
    expect(await accounts.reset('bob@example.org')).toEqual({ refused: 'no-local-accounts' });
    for (const path of [`${pathname}${search}`, `/reset${search}`, `/setup${search}`]) {
      const page = await t.visitor.open(path);
      expect(page.status).toBe(404);
      const password = 'a bridge of stone and lime';
      const form = { token: new URLSearchParams(search).get('token') ?? '', password };
      expect((await t.visitor.submit(page, form, path)).status).toBe(404);
    }
    expect(t.snapshot()).toBe(before);
  });

  it('a federated login starts with a page that redirects, because form-action would block a redirect', async () => {
    const t = await setScene({ identityProviders: two });
    const page = await t.visitor.open('/login?to=account');
    const onward = await t.visitor.submit(page, {}, '/login/hub');
    expect([onward.status, onward.left?.origin]).toEqual([200, 'https://hub.example']);
    expect(textOf(onward)).toContain('You are being redirected. Continue');
    expect(onward.html).toContain('href="https://hub.example/authorize?');
  });

  it('T067: a federated login is not started by a form without a CSRF token or from another site', async () => {
    const t = await setScene({ identityProviders: two });
    const page = await t.visitor.open('/login?to=account');
    const before = t.snapshot();
    const forged = await t.visitor.submit(page, { token: 'x' }, '/login/hub');
    expect([forged.status, forged.left]).toEqual([403, null]);
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    const foreign = await t.visitor.submit(page, {}, '/login/hub');
    expect([foreign.status, foreign.left]).toEqual([403, null]);
    expect(t.snapshot()).toBe(before);
  });
});
