/** Federated login in a real browser: our consent, the identity provider's page and the callback, by both profiles and both kinds of provider. */
import { createClient, createMemoryStore } from '@portcullis/client';
import { createLoopbackReceiver } from '@portcullis/client/node';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool } from '../demo/stage.ts';
import { launchChromium } from '../support/browser.ts';
import { type ChromiumUser, openBrowserFor } from '../support/chromium-user.ts';
import type { Portcullis } from '../support/portcullis.ts';
import { loginAt, PROVIDER_PASSWORD, stageGithub, stageOidc, until } from './stage.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

const noLocalUser = { email: 'none@example.com', password: 'none' };

/** A client that opens this user's browser, and the credentials that it sent last. */
function programOf({ resource }: Portcullis, user: ChromiumUser) {
  const sent = { authorization: '' };
  const visits: Promise<unknown>[] = [];
  const client = createClient({
    serverUrl: resource,
    registration: { clientName: 'Reader' },
    // The browser waits for the client's page; the client does not wait for the browser.
    browser: { open: async (url) => void visits.push(user.authorize(url)) },
    receiver: createLoopbackReceiver(),
    store: createMemoryStore(),
    async fetch(input, init) {
      const request = new Request(input, init);
      sent.authorization = request.headers.get('authorization') ?? sent.authorization;
      return fetch(request);
    },
  });
  return {
    fetch: client.fetch,
    sent,
    async close() {
      await Promise.all(visits);
      await user.context.close();
    },
  };
}

describe.each([
  { profile: 'A', revision: '2025-03-26' },
  { profile: 'B', revision: '2025-06-18' },
])('profile $profile in Chromium', ({ revision }) => {
  it('[GW-3P-4 GW-3P-8] a client reads repositories at the GitHub-like provider, and revoking the connection ends it there too', async () => {
    const { portcullis, party } = await stageGithub({ profiles: [revision] });
    const user = await openBrowserFor(noLocalUser, browser, { elsewhere: loginAt(party, 'github') });
    const visited: string[] = [];
    user.context.on('request', (request) =>
      visited.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`),
    );
    const program = programOf(portcullis, user);
    const answer = await callTool(program.fetch as never, portcullis, 'list_repositories');
    expect(await answer.text()).toContain('ada/compiler');

    // The user's password was sent to the identity provider only, and no provider token passed the browser.
    const typed = visited.filter((line) =>
      line.includes(encodeURIComponent(PROVIDER_PASSWORD).replaceAll('%20', '+')),
    );
    expect(typed.length).toBe(1);
    expect(typed[0]).toContain(party.origin);
    for (const token of party.given) expect(visited.join('\n')).not.toContain(token);

    const page = await user.context.newPage();
    await page.goto(`${portcullis.url}/connections`);
    const listed = await page.locator('main').textContent();
    expect(listed).toContain('GitHub');
    expect(listed).toContain('repo');
    expect(listed).toContain('ada');
    await page.locator('summary').first().click();
    await page
      .getByRole('link', { name: /^Remove access/ })
      .first()
      .click();
    await page.locator('button.danger').waitFor();
    expect(await page.locator('main').textContent()).toContain('GitHub');
    await page.locator('button.danger').click();
    await page.waitForURL(/ended=/);
    await until(() => !party.isLive(party.given[0] ?? ''));
    const late = await fetch(portcullis.resource, {
      method: 'POST',
      headers: { ...program.sent },
      body: '{}',
    });
    expect(late.status).toBe(401);
    await program.close();
  });

  it('[GW-3P-4 GW-3P-8] a client reads files at oidc-provider', async () => {
    const { portcullis, party } = await stageOidc({ profiles: [revision] });
    const user = await openBrowserFor(noLocalUser, browser, { elsewhere: loginAt(party, 'company') });
    const program = programOf(portcullis, user);
    const answer = await program.fetch(portcullis.resource, { method: 'POST', body: '{}' });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ owner: 'ada' })]);
    expect(party.typed).toContain(PROVIDER_PASSWORD);
    await program.close();
  });
});

describe('a user who declines', () => {
  it('[GW-3P-17] the client is told when the user declines at the identity provider, and no token is issued', async () => {
    const { portcullis, party } = await stageOidc();
    const there = { ...loginAt(party, 'company'), decision: 'deny' as const };
    const user = await openBrowserFor(noLocalUser, browser, { elsewhere: there });
    const program = programOf(portcullis, user);
    await expect(program.fetch(portcullis.resource, { method: 'POST', body: '{}' })).rejects.toThrow(
      'The user declined at the identity provider',
    );
    expect(party.given).toEqual([]);
    await program.close();
  });
});

it('[GW-CONS-48] accepts a form_post response, whose cookies no other site’s form carries', async () => {
  const { portcullis, party } = await stageOidc({}, { responseMode: 'form_post' });
  const user = await openBrowserFor(noLocalUser, browser, { elsewhere: loginAt(party, 'company') });
  const visited: { readonly line: string; readonly cookie: string }[] = [];
  user.context.on('request', async (request) => {
    const { pathname } = new URL(request.url());
    const line = `${request.method()} ${pathname}`;
    if (pathname === '/callback/company')
      visited.push({ line, cookie: (await request.allHeaders())['cookie'] ?? '' });
  });
  const program = programOf(portcullis, user);
  const answer = await program.fetch(portcullis.resource, { method: 'POST', body: '{}' });
  expect(answer.status).toBe(200);
  await until(() => visited.length === 2);
  expect(visited.map(({ line }) => line).toSorted()).toEqual([
    'GET /callback/company',
    'POST /callback/company',
  ]);
  for (const { line, cookie } of visited)
    expect(cookie.includes('federated-login')).toBe(line.startsWith('GET'));
  await program.close();
});
