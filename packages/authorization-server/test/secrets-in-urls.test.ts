/** What is in the URLs of this server: they end up in histories, in the logs of proxies and in referrers. */
import { describe, expect, it } from 'vitest';
import { codeOf, recoveryCodesOn, secretOn } from './code-app.ts';
import { basic, redemption, refreshing } from './server-under-test.ts';
import {
  createVisitor,
  decide,
  EMAIL,
  PASSWORD,
  requestOf,
  type Scene,
  setScene,
  VERIFIER,
} from './visitor.ts';

/** The server, and every URL that a browser requests from it, is redirected to, or finds in its pages. */
function withUrls(server: Scene['server']): { readonly server: Scene['server']; readonly urls: string[] } {
  const urls: string[] = [];
  return {
    urls,
    server: {
      ...server,
      async handle(request, connection) {
        urls.push(request.url);
        const response = await server.handle(request, connection);
        const { headers } = response;
        for (const name of ['location', 'content-location', 'refresh', 'link']) {
          const value = headers.get(name);
          if (value !== null) urls.push(value);
        }
        const page = await response.clone().text();
        for (const [, url = ''] of page.matchAll(/\b(?:href|src|action|formaction)="([^"]*)"/g)) {
          // A data URL is requested from nowhere: it is the file with the recovery codes.
          if (!url.startsWith('data:')) urls.push(url);
        }
        return response;
      },
    },
  };
}

describe('URLs', () => {
  it('[S-STORE-1] no URL of this server contains a token, a password, a cookie or another secret; only codes and account links are sent in one', async () => {
    const t = await setScene();
    const { server, urls } = withUrls(t.server);
    const visitor = createVisitor(server, '192.0.2.1');
    const secrets = new Set<string>([PASSWORD, VERIFIER, 'web-secret', 'mistyped password']);
    const keep = (...values: readonly unknown[]) => {
      for (const value of values) secrets.add(String(value));
    };
    const keepCookies = () => keep(...visitor.cookies.values());

    await visitor.submit(await visitor.open(requestOf()), { email: EMAIL, password: 'mistyped password' });
    keepCookies();
    const { left } = await decide(visitor, requestOf());
    keepCookies();
    const code = left?.searchParams.get('code') ?? '';
    const secret = { client_secret: 'web-secret' };
    const { body } = await t.post('/token', { ...redemption(code, VERIFIER, 'web'), ...secret });
    const { body: next } = await t.post('/token', { ...refreshing(body['refresh_token'], 'web'), ...secret });
    keep(body['access_token'], body['refresh_token'], next['access_token'], next['refresh_token']);
    const machine = await t.post(
      '/token',
      { grant_type: 'client_credentials' },
      basic('nightly', 'nightly-secret'),
    );
    keep(machine.body['access_token']);
    const { body: registered } = await t.register({ redirect_uris: ['https://a.example/cb'] });
    keep(registered['client_secret'], registered['registration_access_token']);
    urls.push(String(registered['registration_client_uri']));

    const page = await visitor.submit(await visitor.open('/account/codes'), { password: PASSWORD });
    keep(secretOn(page), /name="proof" value="([^"]+)"/.exec(page.html)?.[1]);
    keep(...recoveryCodesOn(await visitor.submit(page, { code: codeOf(secretOn(page), t.clock.now) })));
    for (const path of ['/account', '/account/password', '/account/remove', '/connections', '/logout']) {
      const sight = await visitor.open(path);
      keep(...[...sight.html.matchAll(/name="token" value="([^"]+)"/g)].map(([, token]) => token));
    }
    const invited = await t.server.accounts.add('bob@example.org');
    const link = new URL('link' in invited ? invited.link : '');
    const token = link.searchParams.get('token') ?? '';
    const password = 'a bridge of rope and planks';
    const chosen = await visitor.open(`${link.pathname}${link.search}`);
    await visitor.submit(chosen, { password, password_again: password });
    keep(password);
    keepCookies();

    expect(urls.length).toBeGreaterThan(60);
    expect(secrets.size).toBeGreaterThan(25);
    const exposed = [...secrets].filter((one) =>
      urls.some((url) => url.includes(one) || url.includes(encodeURIComponent(one))),
    );
    expect(exposed).toEqual([]);
    // What a URL has to contain works once: the code in the redirect to its client, and the token of an account link.
    const holders = (one: string) =>
      urls.filter((url) => url.includes(one)).map((url) => url.replace(/\?.*/s, ''));
    expect(holders(code)).toEqual(['https://app.example/callback']);
    expect(new Set(holders(token))).toEqual(new Set([`${link.origin}/invitation`, '/language']));
  });
});
