/** The whole way in a real browser: our consent, the third party's page, and back, by both profiles and with both kinds of third party. */
import { createClient, createMemoryStore } from '@portcullis/client';
import { createLoopbackReceiver } from '@portcullis/client/node';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool } from '../demo/stage.ts';
import { launchChromium } from '../support/browser.ts';
import { type ChromiumUser, openBrowserFor } from '../support/chromium-user.ts';
import type { Portcullis } from '../support/portcullis.ts';
import { elsewhere, PASSWORD_THERE, stageGithub, stageOidc, until } from './stage.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

const nobody = { email: 'nobody@example.com', password: 'none' };

/** A program that opens this person's browser, and the credentials that it sent last. */
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
  it('[GW-3P-4 GW-3P-8] reads repositories at the third party like GitHub, shows the connection, and ends it there too', async () => {
    const { portcullis, party } = await stageGithub({ profiles: [revision] });
    const user = await openBrowserFor(nobody, browser, { elsewhere: elsewhere(party, 'github') });
    const visited: string[] = [];
    user.context.on('request', (request) =>
      visited.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`),
    );
    const program = programOf(portcullis, user);
    const answer = await callTool(program.fetch as never, portcullis, 'list_repositories');
    expect(await answer.text()).toContain('ada/compiler');

    // What the person typed at the third party was sent there and nowhere else, and no token of theirs passed the browser.
    const typed = visited.filter((line) =>
      line.includes(encodeURIComponent(PASSWORD_THERE).replaceAll('%20', '+')),
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
    await page
      .getByRole('link', { name: /^Remove access/ })
      .first()
      .click();
    await page.locator('button.danger').waitFor();
    expect(await page.locator('main').textContent()).toContain('GitHub');
    await page.locator('button.danger').click();
    await page.waitForURL(/ended=/);
    await until(() => !party.stands(party.given[0] ?? ''));
    const late = await fetch(portcullis.resource, {
      method: 'POST',
      headers: { ...program.sent },
      body: '{}',
    });
    expect(late.status).toBe(401);
    await program.close();
  });

  it('[GW-3P-4 GW-3P-8] reads files at oidc-provider', async () => {
    const { portcullis, party } = await stageOidc({ profiles: [revision] });
    const user = await openBrowserFor(nobody, browser, { elsewhere: elsewhere(party, 'company') });
    const program = programOf(portcullis, user);
    const answer = await program.fetch(portcullis.resource, { method: 'POST', body: '{}' });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ owner: 'ada' })]);
    expect(party.typed).toContain(PASSWORD_THERE);
    await program.close();
  });
});

describe('a person who says no', () => {
  it('[GW-3P-17] at the third party: the client hears of it, and nothing was given', async () => {
    const { portcullis, party } = await stageOidc();
    const there = { ...elsewhere(party, 'company'), decision: 'deny' as const };
    const user = await openBrowserFor(nobody, browser, { elsewhere: there });
    const program = programOf(portcullis, user);
    await expect(program.fetch(portcullis.resource, { method: 'POST', body: '{}' })).rejects.toThrow(
      'did not allow',
    );
    expect(party.given).toEqual([]);
    await program.close();
  });
});

it('[GW-CONS-48] takes an answer that another site posts, with cookies that no other site’s form carries', async () => {
  const { portcullis, party } = await stageOidc({}, { responseMode: 'form_post' });
  const user = await openBrowserFor(nobody, browser, { elsewhere: elsewhere(party, 'company') });
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
