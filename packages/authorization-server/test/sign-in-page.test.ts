/** The sign-in page where there are third parties: beside the form or in its place, and closed to every other origin. */
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

describe('a sign-in page', () => {
  it('offers third parties below its own form, by buttons that post to our own addresses', async () => {
    const t = await setScene({ identityProviders: two });
    const page = await t.visitor.open(requestOf());
    expect(textOf(page)).toMatch(
      /Email Password Sign in .*or H Continue with Hub < Continue with <b>Desk<\/b>/,
    );
    expect(page.html.match(/formaction="[^"]+"/g)).toEqual([
      'formaction="/login/hub"',
      'formaction="/login/desk"',
    ]);
    expect(page.html).not.toContain('<b>Desk');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self';");
  });

  it('offers them in the place of its form where there are no accounts of its own', async () => {
    const t = await setScene({ identityProviders: two, localAccounts: false });
    const page = await t.visitor.open('/login');
    expect(page.html).not.toMatch(/name="password"|<script/);
    expect(textOf(page)).toContain('Continue with Hub');
    expect(textOf(page)).not.toContain(' or ');
  });

  it('leads on to a third party by a page of its own, because a redirect would be held back', async () => {
    const t = await setScene({ identityProviders: two });
    const page = await t.visitor.open('/login?to=account');
    const onward = await t.visitor.submit(page, {}, '/login/hub');
    expect([onward.status, onward.left?.origin]).toEqual([200, 'https://hub.example']);
    expect(textOf(onward)).toContain('You are being redirected. Continue');
    expect(onward.html).toContain('href="https://hub.example/authorize?');
  });

  it('T067: sends nobody there by a form that it did not show, or that another site sent', async () => {
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
