/** The login page with identity providers: beside the local form or instead of it, with a form-action of this origin only. */
import { describe, expect, it } from 'vitest';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { requestOf, setScene, textOf } from './visitor.ts';

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
  it('the login page offers identity providers below the local form, as buttons that post to this server', async () => {
    const t = await setScene({ identityProviders: two });
    const page = await t.visitor.open(requestOf());
    expect(textOf(page)).toMatch(
      /Email Password Show password Forgot your password\? Sign in .*or Continue with Hub Continue with <b>Desk<\/b> Cancel and go back to web/,
    );
    expect(page.html.match(/formaction="[^"]+"/g)).toEqual([
      'formaction="/login/hub"',
      'formaction="/login/desk"',
    ]);
    expect(page.html).not.toContain('<b>Desk');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self';");
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
    expect(textOf(ready)).toContain('Server address Notes https://mcp.example/notes');
    const snippets = [...ready.html.matchAll(/data-copy="([^"]*)"/g)].map(([, text = '']) =>
      text.replaceAll('&quot;', '"'),
    );
    expect(snippets).toContain('claude mcp add --transport http notes https://mcp.example/notes');
    const files = snippets.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text));
    expect(files).toEqual([
      { mcpServers: { notes: { url: 'https://mcp.example/notes' } } },
      { servers: { notes: { type: 'http', url: 'https://mcp.example/notes' } } },
    ]);
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
