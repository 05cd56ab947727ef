/** Several login methods in a real browser: a local account, and two identity providers. */
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { openCallback } from '../support/callback.ts';
import { startGithub } from '../support/identity-providers/github.ts';
import { startOidc } from '../support/identity-providers/oidc.ts';
import { likeGithub, likeOidc } from '../support/identity-providers/settings.ts';
import { owner } from '../support/portcullis.ts';
import { startPortcullisHere } from '../support/portcullis-here.ts';
import { PROVIDER_PASSWORD, userAt } from './stage.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

async function setStage() {
  const [hub, company, callback] = await Promise.all([startGithub(), startOidc(), openCallback()]);
  const portcullis = await startPortcullisHere(
    {
      identityProviders: [
        { ...likeGithub(hub), upstreamScopes: { 'files:list': ['repo'] } },
        likeOidc(company),
      ],
    },
    fileURLToPath(new URL('./files-app.ts', import.meta.url)),
  );
  hub.registerRedirectUri(`${portcullis.url}/callback/github`);
  company.registerRedirectUri(`${portcullis.url}/callback/company`);
  onTestFinished(async () => {
    callback.close();
    await Promise.all([portcullis.stop(), hub.close(), company.close()]);
  });
  const registration = await fetch(`${portcullis.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Reader',
      redirect_uris: [callback.url],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id: clientId } = (await registration.json()) as { readonly client_id: string };
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: callback.url,
    code_challenge: 'LSfGx-vGuxibVzLnGd6UH91seZXpJFuk4lLx0rHl4R8',
    code_challenge_method: 'S256',
  });
  return { portcullis, hub, company, callback, authorize: `${portcullis.url}/authorize?${query}` };
}

const allow = (page: Page) => page.locator('button[name=decision][value=allow]').click();

async function signInThere(page: Page, origin: string): Promise<void> {
  await page.waitForURL((url) => url.origin === origin);
  await page.locator('input[name=login]').fill('ada');
  await page.locator('input[name=password]').fill(PROVIDER_PASSWORD);
  await page.locator('button[name=answer][value=allow]').click();
}

it('[GW-3P-4 GW-CONS-43 GW-CONS-44] offers all login methods, and the consent page names the identity provider and its scopes', async () => {
  const stage = await setStage();
  const { hub, company, callback, authorize } = stage;
  for (const [name, party, right] of [
    ['GitHub', hub, 'repo'],
    ['Company', company, 'files:read'],
  ] as const) {
    const page = await (await browser.newContext()).newPage();
    await page.goto(authorize);
    await page.getByRole('button', { name: new RegExp(name) }).click();
    await page.locator('button[name=decision][value=allow]').waitFor();
    const consent = await page.locator('main').textContent();
    expect(consent).toContain('Reader');
    expect(consent).toContain(name);
    expect(party.given).toEqual([]);
    await allow(page);
    await signInThere(page, party.origin);
    await page.waitForURL((url) => url.href.startsWith(callback.url));
    expect(new URL(page.url()).searchParams.has('code')).toBe(true);
    expect(consent).toContain(right);
    await page.context().close();
  }
});

it('a local user signs in without a redirect to an identity provider', async () => {
  const { hub, company, callback, authorize } = await setStage();
  const page = await (await browser.newContext()).newPage();
  await page.goto(authorize);
  // Beside identity providers, the page asks for the address first.
  await page.locator('input[name=email]').fill(owner.email);
  await page.locator('input[name=email]').press('Enter');
  await page.locator('input[name=password]').fill(owner.password);
  await page.locator('input[name=password]').press('Enter');
  await allow(page);
  await page.waitForURL((url) => url.href.startsWith(callback.url));
  expect(new URL(page.url()).searchParams.has('code')).toBe(true);
  expect([hub.received(), company.received()]).toEqual(['', '']);
  await page.context().close();
});

it('[GW-STATE-42] T077 rejects a federated login that another browser started', async () => {
  const { portcullis, company, authorize } = await setStage();
  const victim = await (await browser.newContext()).newPage();
  const statuses: (number | undefined)[] = [];
  // The attacker sends the victim to the end of the login, and only then goes there.
  const attacker = userAt(company, 'company', 'mallory', async (request) => {
    if (request.url.startsWith(`${portcullis.url}/callback/`)) {
      statuses.push((await victim.goto(request.url))?.status());
      expect(company.count('POST /token')).toBe(0);
    }
    return fetch(request);
  });
  const end = await attacker.authorize(authorize);
  expect(statuses).toEqual([403]);
  expect(await victim.context().cookies()).toEqual([]);
  // The twin: the browser that left comes back with the same answer.
  expect(end.searchParams.has('code')).toBe(true);
  expect(company.count('POST /token')).toBe(1);
  await victim.context().close();
});
