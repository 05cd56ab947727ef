/** Who may open the console: sessions, roles and second factors. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPortcullisHere } from '../../../../tests/support/portcullis-here.ts';
import { type Installation, signIn, startInstallation, stateOf } from '../installation.ts';
import { TWO_FACTORS_USED, visitConsole, visitWith } from './visitor.ts';

let t: Installation;
beforeAll(async () => {
  t = await startInstallation();
});
afterAll(() => t.stop());

const setRole = (role: 'operator' | 'viewer' | null) =>
  t.onStore(async (store) => {
    const [account] = await store.listAccounts('', 1);
    await store.setAccountRole(account?.id ?? '', role);
  });

describe('signing in to the console', () => {
  it('an operator sees the overview, and a browser without a session is sent to sign in', async () => {
    const shown = await (await visitConsole(t)).open('/admin');
    expect(shown.status).toBe(200);
    expect(shown.html).toContain('Needs attention');
    const before = await stateOf(t);
    const refused = await visitWith(t, '').open('/admin');
    expect([refused.status, refused.headers.get('location')]).toEqual([303, '/login?to=console']);
    expect(await stateOf(t)).toEqual(before);
  });

  it('is at the address that the start prints, and nowhere while the setting is off', async () => {
    expect(t.output()).toMatch(new RegExp(`console +${t.url}/admin\n`));
    const plain = await startPortcullisHere();
    try {
      expect(plain.output()).not.toContain('/admin');
      expect((await fetch(`${plain.url}/admin`)).status).toBe(404);
    } finally {
      await plain.stop();
    }
  });

  it('the account page links it to users with a role, of the account or of a group, and to no others', async () => {
    const link = '<a href="/admin">Administer this installation</a>';
    const accountOf = async (holder: Parameters<typeof signIn>[2]) =>
      (await visitWith(t, await signIn(t, TWO_FACTORS_USED, holder)).open('/account')).html;
    expect(await accountOf({ role: 'operator' })).toContain(link);
    expect(await accountOf({ role: null, groups: ['platform'] })).toContain(link);
    expect(await accountOf({ role: null, groups: ['editors'] })).not.toContain(link);
    expect(await accountOf({ role: null })).not.toContain(link);
  });

  it('a browser returns to the page that it opened before it signed in, once', async () => {
    const refused = await visitWith(t, '').open('/admin/users?q=ada');
    const [returning = ''] = (refused.headers.get('set-cookie') ?? '').split(';');
    const visitor = visitWith(t, `${await signIn(t, TWO_FACTORS_USED, { role: 'operator' })}; ${returning}`);
    const returned = await visitor.open('/admin');
    expect([returned.status, returned.headers.get('location')]).toEqual([303, '/admin/users?q=ada']);
    expect(returned.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await visitor.open('/admin/users')).status).toBe(200);
  });

  it('what a script of a page requests is not what a browser returns to', async () => {
    for (const [path, accept] of [
      ['/admin/activity/stream?type=login.*', 'text/event-stream'],
      ['/admin/find?q=ada', '*/*'],
    ] as const) {
      const refused = await fetch(`${t.url}${path}`, { redirect: 'manual', headers: { accept } });
      expect([refused.status, refused.headers.getSetCookie()]).toEqual([303, []]);
    }
  });

  it.each(['https://evil.example', '/adminevil', '//evil.example', '/account'])(
    'returns to no other address than a page of the console: %s',
    async (path) => {
      const returning = `portcullis-${t.port}-console-path=${Buffer.from(path).toString('base64url')}`;
      const visitor = visitWith(
        t,
        `${await signIn(t, TWO_FACTORS_USED, { role: 'operator' })}; ${returning}`,
      );
      expect((await visitor.open('/admin')).status).toBe(200);
    },
  );

  it('a session with one factor is told what to do, and one with two factors is shown the page', async () => {
    const single = await visitConsole(t, 'operator', ['pwd']);
    const before = await stateOf(t);
    const refused = await single.open('/admin/users');
    expect(refused.status).toBe(403);
    expect(refused.html).toContain('Set up a second factor');
    expect(refused.html).not.toContain('owner@');
    expect(await stateOf(t)).toEqual(before);
    expect((await visitConsole(t).then((visitor) => visitor.open('/admin/users'))).status).toBe(200);
  });

  it('an account without a role sees nothing, and one that loses its role meanwhile sees nothing any more', async () => {
    const visitor = await visitConsole(t);
    expect((await visitor.open('/admin/users')).status).toBe(200);
    await setRole(null);
    const refused = await visitor.open('/admin/users');
    expect(refused.status).toBe(403);
    expect(refused.html).toContain('This account has no role');
    expect(refused.html).toContain('portcullis users role user_');
    await setRole('viewer');
    expect((await visitor.open('/admin/users')).status).toBe(200);
  });

  it('the page of a user names the role that counts, also one of a group', async () => {
    const roleOf = async (holder: Parameters<typeof signIn>[2]) => {
      const { open } = visitWith(t, await signIn(t, TWO_FACTORS_USED, holder));
      const [, path = ''] =
        /href="(\/admin\/users\/user_[^"?]+)"/.exec((await open('/admin/users')).html) ?? [];
      return /<dt>Role<\/dt>\s*<dd>([^<]*)/.exec((await open(path)).html)?.[1];
    };
    expect(await roleOf({ role: null, groups: ['platform'] })).toBe('operator, by a group');
    expect(await roleOf({ role: 'viewer', groups: ['platform'] })).toBe('operator, by a group');
    expect(await roleOf({ role: 'operator' })).toBe('operator');
    expect(await roleOf({ role: 'viewer' })).toBe('viewer');
  });

  it('every page has a strict content security policy, is not framed and is not stored', async () => {
    const { headers, html } = await (await visitConsole(t)).open('/admin/users');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(html).not.toMatch(/ style=|<style| on[a-z]+=|<script>/);
  });

  it('an unknown page is a 404 with a link to the overview', async () => {
    const missing = await (await visitConsole(t)).open('/admin/nothing');
    expect(missing.status).toBe(404);
    expect(missing.html).toContain('href="/admin"');
  });
});
