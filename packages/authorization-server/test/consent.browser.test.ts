/** Consent in a real Chromium: fewer scopes, more scopes later, a workspace, German, and the redirect back over https. */
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { untilPainted } from '../../../scripts/gallery/paint.ts';
import { findViolations } from '../../../tests/support/axe.ts';
import { launchChromium } from '../../../tests/support/browser.ts';
import { startListening, withoutAddress } from './listening-server.ts';
import { EMAIL, PASSWORD, requestOf, VERIFIER } from './visitor.ts';

const fixtures = new URL('../../http/test/fixtures/', import.meta.url);
const pem = (name: string) => readFileSync(new URL(name, fixtures));

let browser: Browser;
let issuer: string;
let plain: Server;
let secure: Server;
const ends: (() => Promise<void>)[] = [];

async function startApp(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  browser = await launchChromium();
  const answer = (_request: unknown, response: { end(text: string): void }) =>
    response.end('<title>The app</title>');
  plain = await startApp(createHttpServer(answer));
  const tls = { key: pem('key.pem'), cert: pem('certificate.pem') };
  secure = await startApp(createHttpsServer(tls, answer) as unknown as Server);
  const stage = await startListening(
    (issuer) => ({
      resources: [
        {
          resource: `${issuer}/mcp`,
          name: 'Notes',
          scopes: {
            read: 'Read your notes',
            write: 'Change your notes',
            share: 'Share your notes',
            remove: 'Delete your notes',
          },
        },
        { resource: `${issuer}/board`, name: 'Board', scopes: { see: 'See the board' } },
      ],
      workspaces: async (_account, resource) =>
        resource === `${issuer}/board`
          ? [
              { id: 'w1', name: 'One' },
              { id: 'w2', name: 'Two' },
            ]
          : [],
    }),
    { middleware: withoutAddress },
  );
  issuer = stage.issuer;
  ends.push(stage.close);
});

afterAll(async () => {
  await browser.close();
  for (const end of ends) await end();
});

/** A separate client for each test, so that no grants are shared. */
async function register(redirect_uri: string, client_name = 'Notes CLI'): Promise<string> {
  const response = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name, redirect_uris: [redirect_uri], token_endpoint_auth_method: 'none' }),
  });
  return ((await response.json()) as { client_id: string }).client_id;
}

async function visit(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  return context.newPage();
}

/** Waits for a page: a click does not wait for navigation. */
const on = (page: Page, heading: string) =>
  page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();

async function ask(page: Page, parameters: Record<string, string>): Promise<void> {
  await page.goto(issuer + requestOf({ redirect_uri: undefined, ...parameters }));
  if (page.url().includes('/login')) {
    await page.fill('[name=email]', EMAIL);
    await page.fill('[name=password]', PASSWORD);
    await untilPainted(page);
    await page.press('[name=password]', 'Enter');
  }
  await page.waitForSelector('[name=decision]');
  await untilPainted(page);
}

/** Allows, and redeems the code. */
async function allow(page: Page, client_id: string, callback: string): Promise<Record<string, unknown>> {
  await page.click('[value=allow]');
  await page.waitForURL(`${callback}?code=**`);
  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, client_id };
  const answer = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
  return (await answer.json()) as Record<string, unknown>;
}

/** Each scheme once: contrast does not depend on the width. The survey of every page has a wide one. */
const LOOKS = [
  { colorScheme: 'light', width: 320 },
  { colorScheme: 'dark', width: 360 },
] as const;

async function expectAccessible(page: Page): Promise<void> {
  await page.waitForLoadState();
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 740 });
    const overflows = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    expect([colorScheme, width, await findViolations(page), overflows]).toEqual([
      colorScheme,
      width,
      [],
      false,
    ]);
  }
}

describe('consent', () => {
  it.each([
    ['with JavaScript', true],
    ['without', false],
  ])(
    'narrows scopes with a switch, by keyboard alone, and adds them later: %s',
    async (_how, javaScriptEnabled) => {
      const callback = `http://127.0.0.1:${portOf(plain)}/cb`;
      const client_id = await register(callback);
      const page = await visit({ javaScriptEnabled });
      await ask(page, { client_id, scope: 'read write' });
      await page.locator('[role=switch][value=write]').focus();
      await page.keyboard.press('Space');
      await page.locator('[value=allow]').focus();
      expect(await allow(page, client_id, callback)).toMatchObject({ scope: 'read' });

      await ask(page, { client_id, scope: 'read share' });
      expect(await page.locator('h1').textContent()).toBe('Notes CLI wants more access to Notes');
      expect(await page.locator('.powers').textContent()).toMatch(/^\s*Share your notes\s+new\s*$/);
      expect(
        await page.locator('text=It keeps the access you allowed before: Read your notes.').count(),
      ).toBe(1);
      expect(await allow(page, client_id, callback)).toMatchObject({ scope: 'read share' });
    },
  );

  it('Enter in a switch declines consent and keeps the user signed in', async () => {
    const callback = `http://127.0.0.1:${portOf(plain)}/cb`;
    const page = await visit();
    await ask(page, { client_id: await register(callback), scope: 'read write' });
    await page.locator('[role=switch]').first().press('Enter');
    await page.waitForURL(`${callback}?error=access_denied**`);
    await page.goto(`${issuer}/setup`);
    expect(await page.locator('h1').textContent()).toBe('Your account is ready');
  });

  it('T073: the consent page shows everything important on the first screen of a small phone, however long the app’s name', async () => {
    const client_id = await register('http://127.0.0.1/cb', 'Your trusted bank '.repeat(16));
    const page = await visit({ viewport: { width: 360, height: 640 } });
    await ask(page, {
      client_id,
      redirect_uri: 'http://127.0.0.1:51004/cb',
      scope: 'read write share remove',
    });
    const matters = [
      'h1',
      'text=Signed in as',
      'text=Unverified app',
      '.powers',
      '.risky',
      '.caution',
      'text=127.0.0.1:51004',
      '[value=allow]',
      '[value=deny]',
    ];
    for (const what of matters) {
      const box = await page.locator(what).first().boundingBox();
      expect([what, box !== null && box.y >= 0 && box.y + box.height <= 640]).toEqual([what, true]);
    }
  });

  it('binds the grant to the chosen workspace, and requires a choice', async () => {
    const callback = `http://127.0.0.1:${portOf(plain)}/cb`;
    const client_id = await register(callback);
    const page = await visit();
    await ask(page, { client_id, resource: `${issuer}/board` });
    await page.click('[value=allow]');
    await page.waitForSelector('[name=workspace]:user-invalid');
    expect(page.url()).toContain('/consent');
    await page.selectOption('[name=workspace]', 'w2');
    const { access_token } = await allow(page, client_id, callback);
    const claims = Buffer.from(String(access_token).split('.')[1] ?? '', 'base64url').toString();
    expect(JSON.parse(claims)).toMatchObject({ workspace: 'w2' });
  });

  it('the consent page can be switched to German and works there', async () => {
    const callback = `http://127.0.0.1:${portOf(plain)}/cb`;
    const client_id = await register(callback);
    const page = await visit({ javaScriptEnabled: false });
    await ask(page, { client_id, scope: 'read' });
    await page.getByText('Deutsch').click();
    await on(page, 'Notes CLI möchte Notes verwenden');
    await page.getByText('Abbrechen').click();
    await page.waitForURL(`${callback}?error=access_denied**`);
  });

  it('consent redirects back over https', async () => {
    const callback = `https://127.0.0.1:${portOf(secure)}/cb`;
    const registered = await fetch(`${issuer}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' }),
    });
    const { client_id } = (await registered.json()) as { client_id: string };
    const page = await visit({ ignoreHTTPSErrors: true });
    await ask(page, { client_id, scope: 'read' });
    expect(await allow(page, client_id, callback)).toMatchObject({ scope: 'read' });
    expect(await page.title()).toBe('The app');
  });

  it('explains that cookies are off, and decides nothing', async () => {
    const client_id = await register('http://127.0.0.1/cb');
    const page = await visit();
    await ask(page, { client_id, scope: 'read' });
    await page.context().clearCookies();
    await page.click('[value=allow]');
    await on(page, 'Your browser did not send our cookie');
    await page.locator('.fact code').waitFor();
    expect(await page.locator('.fact code').count()).toBe(1);
  });

  it('the consent page passes axe in every state, narrow and wide, light and dark', async () => {
    const client_id = await register(`http://127.0.0.1:${portOf(plain)}/cb`);
    const page = await visit();
    await ask(page, { client_id, scope: 'read write share' });
    await expectAccessible(page);
    for (const one of await page.locator('[role=switch]').all()) await one.uncheck();
    await page.click('[value=allow]');
    await page.waitForSelector('.wrong');
    await expectAccessible(page);
    await ask(page, { client_id, resource: `${issuer}/board` });
    await expectAccessible(page);
    await ask(page, { client_id, scope: 'read' });
    await allow(page, client_id, `http://127.0.0.1:${portOf(plain)}/cb`);
    await ask(page, { client_id, scope: 'write share' });
    await expectAccessible(page);
    await page.getByText('Deutsch').click();
    await page.locator('html[lang=de]').waitFor();
    await expectAccessible(page);
  });
});
