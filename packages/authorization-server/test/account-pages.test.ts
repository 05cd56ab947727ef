/** Special cases of the account pages: connections that look alike, and the offer of passkeys. */
import { describe, expect, it } from 'vitest';
import { redemption, startServer } from './server-under-test.ts';
import { decide, PASSWORD, requestOf, type Scene, setScene, textOf, VERIFIER } from './visitor.ts';

describe('connections that look alike', () => {
  /** Connects an app of this name. */
  async function connect(t: Scene, client_name: string): Promise<void> {
    const redirect_uri = 'http://127.0.0.1:51004/cb';
    const client_id = await t.registerClient({
      client_name,
      redirect_uris: [redirect_uri],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const { left } = await decide(t.visitor, requestOf({ client_id, redirect_uri }));
    const code = left?.searchParams.get('code') ?? '';
    expect((await t.post('/token', redemption(code, VERIFIER, client_id))).status).toBe(200);
  }

  it('connections that look alike show seconds, in the list and before removal; others show minutes', async () => {
    const t = await setScene();
    t.clock.now = 1_795_248_000;
    await connect(t, 'Editor');
    t.clock.now += 13;
    await connect(t, 'Editor');
    t.clock.now += 1;
    await connect(t, 'Planner');
    t.clock.now += 3600;
    await connect(t, 'Planner');
    const list = await t.visitor.open('/connections');
    const said = [...list.html.matchAll(/allowed on <time[^>]*>([^<]+)/g)].map(([, time]) => time);
    expect(said.map((time) => / at (.+) UTC$/.exec(String(time))?.[1]).toSorted()).toEqual([
      '08:00',
      '08:00:00',
      '08:00:13',
      '09:00',
    ]);
    const ends = [...list.html.matchAll(/href="(\/connections\/end\?connection=[^"]+)"/g)];
    const asked = await Promise.all(ends.map(async ([, path = '']) => textOf(await t.visitor.open(path))));
    for (const time of ['08:00:00', '08:00:13']) {
      expect(asked.filter((text) => text.includes(`at ${time} UTC`))).toHaveLength(1);
    }
  });
});

describe('the page that says that an account is ready', () => {
  /** Signed in by a cookie that is planted: browsers and visitors alike send it wherever the server stands. */
  const say = async (issuer: string) => {
    const { server } = await startServer({ issuer });
    const added = await server.accounts.add('bob@example.org');
    const link = new URL('link' in added ? added.link : '');
    const token = link.searchParams.get('token') ?? '';
    const body = new URLSearchParams({ token, password: PASSWORD, password_again: PASSWORD });
    const made = await server.handle(new Request(link, { method: 'POST', body }));
    expect([made.status, made.headers.get('location')]).toEqual([303, '/setup']);
    const cookie = made.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const ready = await server.handle(new Request(`${link.origin}/setup`, { headers: { cookie } }));
    return ready.text();
  };

  it('the page of a new account offers passkeys where they are available', async () => {
    const here = await say('https://as.example');
    expect(here).toMatch(/Under <a href="\/account">Account<\/a> you can add a passkey/);
    const address = await say('http://127.0.0.1:8484');
    expect(address).toContain('Your account is ready');
    expect(address).not.toContain('passkey');
  });
});

it('the mark of account pages leads to the addresses of the servers, and that of a page with one question does not', async () => {
  const t = await setScene();
  const login = await t.visitor.open('/login?to=account');
  expect(login.html).not.toContain('<a href="/">');
  await t.visitor.signIn('/login?to=account');
  for (const path of ['/account', '/connections'])
    expect((await t.visitor.open(path)).html).toContain('<p class="mark"><a href="/"><svg');
  expect((await t.visitor.open('/account/password')).html).not.toContain('<a href="/">');
});
