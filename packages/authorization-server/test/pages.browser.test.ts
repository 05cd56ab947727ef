/** The pages in Chromium: from the setup link to the client's redirect URI, with and without JavaScript. */
import { createServer, type Server } from 'node:http';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { untilPainted } from '../../../scripts/gallery/paint.ts';
import { launchChromium } from '../../../tests/support/browser.ts';
import { hearComplaints } from '../../../tests/support/page-errors.ts';
import { type ListeningServer, startListening } from './listening-server.ts';
import { EMAIL, PASSWORD, requestOf } from './visitor.ts';

/** A client's listener: records requests, and redirects `/onward` to another origin, as some clients do. */
interface Callback {
  readonly server: Server;
  readonly port: number;
  readonly arrived: string[];
}

async function startCallback(): Promise<Callback> {
  const arrived: string[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    if (url !== '/favicon.ico') arrived.push(url);
    const isHop = url.startsWith('/onward');
    response.writeHead(isHop ? 302 : 200, {
      'content-type': 'text/html',
      ...(isHop && { location: `http://localhost:${headers.host?.split(':')[1]}/end` }),
    });
    response.end('<title>The app</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { server, port, arrived };
}

/** @param bootstrap whether Ada has an account; otherwise the setup link creates the first one */
const startStage = (bootstrap: boolean) =>
  startListening(
    (issuer) => ({
      name: 'notes.example',
      privateUseSchemes: ['cursor'],
      resources: [
        {
          resource: `${issuer}/mcp`,
          name: 'Notes',
          scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Add, change and delete your notes' },
        },
      ],
    }),
    { bootstrap },
  );

let browser: Browser;
let stage: ListeningServer;
let callback: Callback;

beforeAll(async () => {
  [browser, stage, callback] = await Promise.all([launchChromium(), startStage(true), startCallback()]);
});

afterAll(async () => {
  await browser.close();
  await stage.close();
  callback.server.close();
  callback.server.closeAllConnections();
});

async function register(issuer: string, redirect_uri: string): Promise<string> {
  const response = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Notes CLI',
      redirect_uris: [redirect_uri],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id } = (await response.json()) as { client_id: string };
  return client_id;
}

/** The URL at which a client would open the browser. */
async function requestBy(
  redirect_uri: string,
  more: Record<string, string> = {},
  { issuer } = stage,
): Promise<string> {
  const client_id = await register(issuer, redirect_uri);
  return issuer + requestOf({ client_id, redirect_uri, ...more });
}

async function visit(
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  // With the transitions between pages that most users see.
  const context = await browser.newContext({ reducedMotion: 'no-preference', ...options });
  const page = await context.newPage();
  const complaints = hearComplaints(page);
  return { page, context, complaints };
}

async function signIn(page: Page): Promise<void> {
  await page.fill('[name=email]', EMAIL);
  await page.fill('[name=password]', PASSWORD);
  await untilPainted(page);
  await page.click('form[action="/login"] button');
  await page.waitForSelector('[name=decision]');
  await untilPainted(page);
}

const allow = '[name=decision][value=allow]';

/** Waits for a page, because a click does not. */
const on = (page: Page, heading: string) =>
  page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();

describe('from the setup link to the app', () => {
  it.each([
    ['without JavaScript', false],
    ['with JavaScript', true],
  ])('the flow from the setup link to the app works %s', async (_how, javaScriptEnabled) => {
    const { page, context, complaints } = await visit({ javaScriptEnabled });
    const empty = await startStage(false);
    onTestFinished(empty.close);
    await page.goto((await empty.server.setupLink()) ?? '');
    await page.fill('[name=email]', EMAIL);
    await page.fill('[name=password]', PASSWORD);
    await page.fill('[name=password_again]', PASSWORD);
    await page.click('.button.main');
    await on(page, 'Your account is ready');
    await page.getByText('sign out').click();
    await on(page, 'You are signed out');
    const redirect = `http://127.0.0.1:${callback.port}/callback`;
    await page.goto(await requestBy(redirect, {}, empty));
    await signIn(page);
    await page.click(allow);
    await page.waitForURL(`${redirect}?code=*`);
    expect(await page.title()).toBe('The app');
    expect(callback.arrived.at(-1)).toMatch(/^\/callback\?code=[\w-]{52}&state=xyz&iss=/);
    expect(complaints).toEqual([]);

    await page.goBack();
    await page.goBack();
    await page.waitForSelector('text=This request is no longer open');
    await context.close();
  });
});

describe('the way back to the app', () => {
  it('the app can redirect the browser to another origin', async () => {
    const { page, context } = await visit();
    await page.goto(await requestBy(`http://127.0.0.1:${callback.port}/onward`));
    await signIn(page);
    await page.click(allow);
    await page.waitForURL(`http://localhost:${callback.port}/end`);
    await context.close();
  });

  it('the redirect opens an app with a private-use scheme', async () => {
    const { page, context, complaints } = await visit();
    await page.goto(await requestBy('cursor://anysphere.cursor-retrieval/oauth/cb'));
    await signIn(page);
    const asked = page.waitForEvent('requestfailed', (request) => request.url().startsWith('cursor:'));
    await page.click(allow);
    // Nothing opens such links here; the browser tried, and no policy kept it from trying.
    expect((await asked).url()).toMatch(/^cursor:\/\/anysphere\.cursor-retrieval\/oauth\/cb\?code=/);
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([]);
    await context.close();
  });

  it('a user declines by keyboard, and the app gets the error', async () => {
    const { page, context } = await visit();
    await page.goto(await requestBy(`http://localhost:${callback.port}/callback`));
    // The browser gives the focus when it first draws the page, which may be after it has loaded.
    await page.waitForSelector('#email:focus');
    await page.keyboard.type(EMAIL);
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForSelector('[name=decision]');
    const focused = () => page.evaluate('document.activeElement.textContent');
    const order: unknown[] = [];
    for (let n = 0; n < 6; n++) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    const about = `Unverified app · returns to localhost:${callback.port} on this computer About this app`;
    expect(order).toEqual(['not you?', about, '', '', 'Cancel', 'Allow access']);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(`http://localhost:${callback.port}/callback?error=access_denied*`);
    await context.close();
  });

  it('a double click on Allow reaches the app once', async () => {
    const { page, context } = await visit();
    await page.goto(await requestBy(`http://127.0.0.1:${callback.port}/callback`));
    await signIn(page);
    await page.locator(allow).click({ clickCount: 2, delay: 20 });
    await page.waitForURL(`http://127.0.0.1:${callback.port}/callback?code=*`);
    await context.close();
  });

  it('an invalid request of an unverified app shows a link back instead of redirecting', async () => {
    const { page, context } = await visit();
    await page.goto(await requestBy(`http://127.0.0.1:${callback.port}/callback`, { scope: 'nonsense' }));
    expect(page.url()).toMatch(stage.issuer);
    await page.getByRole('link', { name: 'Return to Notes CLI' }).click();
    await page.waitForURL(`http://127.0.0.1:${callback.port}/callback?error=invalid_scope*`);
    await context.close();
  });
});

describe('a small phone', () => {
  it('T073: everything that matters about a consent stands on the first screen of a small phone', async () => {
    const { page, context } = await visit({ viewport: { width: 360, height: 640 } });
    await page.goto(await requestBy('http://127.0.0.1:51004/cb'));
    await signIn(page);
    for (const what of [
      'h1',
      '.powers',
      'text=Signed in as',
      'text=127.0.0.1:51004',
      'text=Unverified app',
      allow,
      '[value=deny]',
    ]) {
      const box = await page.locator(what).first().boundingBox();
      expect([what, box !== null && box.y >= 0 && box.y + box.height <= 640]).toEqual([what, true]);
    }
    const [cancel, agree] = [
      await page.locator('[value=deny]').boundingBox(),
      await page.locator(allow).boundingBox(),
    ];
    expect([cancel?.height, cancel?.width]).toEqual([agree?.height, agree?.width]);
    expect(cancel?.height).toBeGreaterThanOrEqual(44);
    await context.close();
  });
});
