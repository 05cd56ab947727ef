/** From an invitation to the first tool call, with a password and with a passkey; and from a page's reference to its event. */
import { tmpdir } from 'node:os';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';
import { createMemoryProvider } from '../interop/memory-provider.ts';
import { sdkTwo } from '../interop/sdks.ts';
import { launchChromium } from '../support/browser.ts';
import { type Callback, openCallback } from '../support/callback.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';

let server: PortcullisHere;
let browser: Browser;
let callback: Callback;

beforeAll(async () => {
  [server, browser, callback] = await Promise.all([startPortcullisHere(), launchChromium(), openCallback()]);
});

afterAll(async () => {
  await browser.close();
  callback.close();
  await server.stop();
});

/** What the command prints, beside the running server. */
async function portcullis(...args: readonly string[]): Promise<string> {
  const { code, output, errors } = await runHere(args, {
    environment: { PORTCULLIS_DATABASE: server.database, PORTCULLIS_PUBLIC_URL: server.url },
    folder: tmpdir(),
  });
  expect([args, code, errors]).toEqual([args, 0, '']);
  return output;
}

async function enter(javaScriptEnabled = true): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ javaScriptEnabled });
  onTestFinished(() => context.close());
  return { context, page: await context.newPage() };
}

/** The account link that the command prints. */
async function invite(email: string): Promise<string> {
  return (await portcullis('users', 'add', email)).trim().split('\n').at(-1) ?? '';
}

/** An app requests access; the user signs in and consents. Then the app calls a tool. */
async function callFirstTool(page: Page, signIn: (page: Page) => Promise<void>): Promise<void> {
  const provider = createMemoryProvider({ redirectUrl: callback.url });
  const user = {
    async authorize(url: string | URL) {
      await page.goto(String(url));
      await signIn(page);
      await page.click('[name=decision][value=allow]');
      await page.waitForURL(`${callback.url}?**`);
      return new URL(page.url());
    },
  };
  await sdkTwo.signIn(server.resource, provider, user);
  const session = await sdkTwo.connect(server.resource, provider);
  expect(await session.call('add_note', { text: 'The first of all' })).toMatchObject({
    text: 'The first of all',
  });
  await session.close();
}

/** A device that keeps passkeys, and says yes to whatever it is asked. */
async function plugIn({ context, page }: { context: BrowserContext; page: Page }): Promise<void> {
  await context.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

describe('an invitation', () => {
  it('leads by a passkey to the first tool call', async () => {
    const link = await invite('grace@example.com');
    const visitor = await enter();
    const { context, page } = visitor;
    await plugIn(visitor);
    await page.goto(link);
    await page.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText('Your account is ready').waitFor();
    await context.clearCookies();
    await callFirstTool(page, (at) => at.getByRole('button', { name: 'Sign in with a passkey' }).click());
  });

  it.each([
    ['with JavaScript', true],
    ['without JavaScript', false],
  ])('leads by a password to the first tool call, %s', async (_how, javaScriptEnabled) => {
    const password = 'a bridge of rope and planks';
    const email = `linus-${javaScriptEnabled}@example.com`;
    const link = await invite(email);
    const { context, page } = await enter(javaScriptEnabled);
    await page.goto(link);
    await page.fill('[name=password]', password);
    await page.fill('[name=password_again]', password);
    await page.getByRole('button', { name: 'Save and sign in' }).click();
    await page.getByText('Your account is ready').waitFor();
    await context.clearCookies();
    await callFirstTool(page, async (at) => {
      await at.fill('[name=email]', email);
      await at.fill('[name=password]', password);
      await at.press('[name=password]', 'Enter');
    });
  });
});

describe('the reference on a page', () => {
  it.each([
    ['/authorize?client_id=unknown', 'This app is not registered here', /client_id/],
    ['/authorize', 'This request is not valid', /client_id/],
    ['/login?flow=flow_x', 'This request is no longer open', /completed, or expired/],
    ['/consent', 'Start from your app', /no authorization transaction/],
    ['/setup?token=x', 'There is an account already', /set-up/],
  ])('is found by the operator in the events: %s', async (path, heading, reason) => {
    const { page } = await enter();
    await page.goto(server.url + path);
    expect(await page.locator('h1').textContent()).toBe(heading);
    const reference = (await page.locator('.reference code').textContent()) ?? '';
    expect(reference).toMatch(/^[2-9A-Z]{4}-[2-9A-Z]{4}$/);
    const typed = reference.toLowerCase().replace('-', ' ');
    const found = () => portcullis('events', '--json', '--reference', typed);
    // Events are written a moment later.
    await expect.poll(found).not.toBe('');
    const lines = (await found()).trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      type: 'request.rejected',
      endpoint: path.split('?')[0],
      reference,
      reason: expect.stringMatching(reason),
    });
  });
});
