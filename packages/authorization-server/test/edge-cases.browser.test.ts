/** Edge cases in a real Chromium: two tabs, the back button, a page left open, a double click, no cookies, another redirect host. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { untilPainted } from '../../../scripts/gallery/paint.ts';
import { launchChromium } from '../../../tests/support/browser.ts';
import type { AuthorizationEvent, AuthorizationServer } from '../src/index.ts';
import { startListening } from './listening-server.ts';
import { EMAIL, PASSWORD, requestOf } from './visitor.ts';

let browser: Browser;
let issuer: string;
let app: Server;
const events: AuthorizationEvent[] = [];
const clock = { ahead: 0 };
/** Whether cookies are dropped between browser and server, as in a browser that stores none. */
const cookies = { off: false };
const arrived: string[] = [];
const ends: (() => Promise<unknown>)[] = [];

/** The host of a client's metadata document, and the redirect URI in it. */
const DOCUMENT = 'https://tools.example/notes.json';
const document = {
  client_id: DOCUMENT,
  client_name: 'Notes Tool',
  redirect_uris: ['https://tools.example/callback', 'https://elsewhere.example/callback'],
  token_endpoint_auth_method: 'none',
};

const loseCookies =
  (handler: AuthorizationServer['handleHttp']): AuthorizationServer['handleHttp'] =>
  async (asked) => {
    if (!cookies.off) return handler(asked);
    const headers: typeof asked.headers = {
      get: (name) => (name === 'cookie' ? null : asked.headers.get(name)),
      has: (name) => name !== 'cookie' && asked.headers.has(name),
    };
    const { method, url, body } = asked;
    const answer = await handler({ method, url, headers, body, text: () => asked.text() });
    return { ...answer, cookies: [] };
  };

beforeAll(async () => {
  browser = await launchChromium();
  app = createServer(({ url = '' }, response) => {
    if (url !== '/favicon.ico') arrived.push(url);
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>The app</title>');
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const stage = await startListening(
    (own) => ({
      resources: [{ resource: `${own}/mcp`, name: 'Notes', scopes: { read: 'Read your notes' } }],
      outbound: { fetch: async () => Response.json(document) },
      clock: () => Math.floor(Date.now() / 1000) + clock.ahead,
      events: (event) => events.push(event),
    }),
    { middleware: loseCookies },
  );
  issuer = stage.issuer;
  ends.push(stage.close);
});

afterAll(async () => {
  await browser.close();
  app.close();
  app.closeAllConnections();
  for (const end of ends) await end();
});

const callback = () => `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`;

async function enter(): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  return { page: await context.newPage(), context };
}

/** The authorization URL that an app opens in the browser. */
async function request(state = 'xyz'): Promise<string> {
  const response = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callback()], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = (await response.json()) as { client_id: string };
  return issuer + requestOf({ client_id, redirect_uri: callback(), state });
}

async function signIn(page: Page, path?: string): Promise<void> {
  if (path !== undefined) await page.goto(path);
  await page.fill('[name=email]', EMAIL);
  await page.fill('[name=password]', PASSWORD);
  await untilPainted(page);
  await page.click('form[action="/login"] button');
}

/** Waits for an error page; returns its heading with the reason that the event log has for its reference. */
async function refusalOn(page: Page): Promise<readonly unknown[]> {
  await page.waitForSelector('.reference');
  return [await page.locator('h1').textContent(), await errorOf(page)];
}

const allow = '[name=decision][value=allow]';

/** The event log has the reference of the page, with the error. */
async function errorOf(page: Page): Promise<string | undefined> {
  const reference = await page.locator('.reference code').textContent();
  const found = events.find((event) => event.reference === reference);
  return found !== undefined && 'error' in found ? found.error : undefined;
}

describe('two tabs', () => {
  it('two tabs with two requests are decided separately', async () => {
    const { page: first, context } = await enter();
    const second = await context.newPage();
    await signIn(first, await request('first'));
    await first.waitForSelector(allow);
    await second.goto(await request('second'));
    await second.click(allow);
    await second.waitForURL(`${callback()}?code=*state=second*`);
    await first.click(allow);
    await first.waitForURL(`${callback()}?code=*state=first*`);
  });

  it('two tabs of one request decide once, and the other tab says so', async () => {
    const { page: first, context } = await enter();
    const second = await context.newPage();
    await signIn(first, await request());
    await first.waitForSelector(allow);
    await second.goto(first.url());
    await first.click('[value=deny]');
    await first.waitForURL(`${callback()}?error=access_denied*`);
    await second.click(allow);
    expect(await refusalOn(second)).toEqual(['This request is no longer open', 'gone']);
  });

  it('a tab of a former user takes no decision after another sign-in, and shows the current user', async () => {
    const { page: first, context } = await enter();
    const second = await context.newPage();
    await signIn(first, await request());
    await first.waitForSelector(allow);
    await second.goto(`${issuer}/account`);
    await second.getByRole('button', { name: 'Sign out', exact: true }).click();
    await second.getByText('You are signed out').waitFor();
    await signIn(second, `${issuer}/login`);
    await second.waitForSelector('nav');
    await first.click(allow);
    expect(await refusalOn(first)).toEqual(['Nothing was changed', 'stale-form']);
    await first.getByRole('link', { name: 'Review the request again' }).click();
    await first.click(allow);
    await first.waitForURL(`${callback()}?code=*`);
  });
});

describe('a page that was left open', () => {
  it.each([
    ['sign-in', async (_page: Page) => {}, (page: Page) => signIn(page)],
    [
      'consent',
      async (page: Page) => {
        await signIn(page);
        await page.waitForSelector(allow);
      },
      (page: Page) => page.click(allow),
    ],
  ])(
    'a page left open until the transaction expired says so at %s, and decides nothing',
    async (_where, reach, answer) => {
      onTestFinished(() => {
        clock.ahead = 0;
      });
      const { page } = await enter();
      await page.goto(await request());
      await reach(page);
      const before = arrived.length;
      clock.ahead = 601;
      await answer(page);
      expect(await refusalOn(page)).toEqual(['This request is no longer open', 'gone']);
      expect(arrived.length).toBe(before);
    },
  );
});

describe('going back', () => {
  it('going back from consent to sign-in leads to consent again', async () => {
    const { page } = await enter();
    await signIn(page, await request());
    await page.waitForSelector(allow);
    await page.goBack();
    await page.reload();
    await page.click(allow);
    await page.waitForURL(`${callback()}?code=*`);
  });

  it('going back from the client says that the request is over', async () => {
    const { page } = await enter();
    await signIn(page, await request());
    await page.click(allow);
    await page.waitForURL(`${callback()}?code=*`);
    await page.goBack();
    expect(await refusalOn(page)).toEqual(['This request is no longer open', 'gone']);
  });

  it('going back after signing out shows nothing of the account', async () => {
    const { page } = await enter();
    await signIn(page, `${issuer}/login?to=account`);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('You are signed out').waitFor();
    await page.goBack();
    await page.waitForURL(`${issuer}/login?to=account*`);
    expect(await page.getByText(EMAIL).count()).toBe(0);
  });
});

describe('a form that is sent twice', () => {
  it('a double click on consent issues one code', async () => {
    const { page } = await enter();
    await signIn(page, await request());
    await page.waitForSelector(allow);
    const issued = () => events.filter(({ type }) => type === 'authorization_code.issued').length;
    const before = issued();
    await page.evaluate(`(() => {
      const form = document.querySelector('form.consent');
      const button = document.querySelector('[value=allow]');
      form.requestSubmit(button);
      form.requestSubmit(button);
    })()`);
    await page.waitForURL(`${callback()}?code=*`);
    expect(issued()).toBe(before + 1);
  });

  it('a double click on sign-in signs in again', async () => {
    const { page } = await enter();
    await page.goto(await request());
    await page.fill('[name=email]', EMAIL);
    await page.fill('[name=password]', PASSWORD);
    await page.locator('form[action="/login"] button').dblclick();
    await page.click(allow);
    await page.waitForURL(`${callback()}?code=*`);
  });
});

describe('a browser that keeps no cookies', () => {
  it.each([
    ['for an app', () => request()],
    ['for one’s own account', async () => `${issuer}/connections`],
  ])('a browser without cookies gets an explanation %s', async (_why, address) => {
    const { page } = await enter();
    cookies.off = true;
    onTestFinished(() => {
      cookies.off = false;
    });
    await page.goto(await address());
    if ((await page.locator('[name=email]').count()) > 0) await signIn(page);
    expect(await refusalOn(page)).toEqual(['Your browser did not send our cookie', 'no-cookie']);
    await page.getByText('Allow cookies for this site').waitFor();
  });
});

describe('an app that is published on one host', () => {
  const notes = (redirect_uri: string) => issuer + requestOf({ client_id: DOCUMENT, redirect_uri });

  it('T073: warns when a client’s metadata document redirects to another host', async () => {
    const { page } = await enter();
    await page.setViewportSize({ width: 360, height: 640 });
    await signIn(page, notes('https://elsewhere.example/callback'));
    await page.waitForSelector(allow);
    expect(await page.locator('.note').textContent()).toBe(
      'This app is published at tools.example but sends you to elsewhere.example. Continue only if you know why.',
    );
    for (const what of ['.note', 'text=returns to elsewhere.example', allow, '[value=deny]', '.powers']) {
      const box = await page.locator(what).first().boundingBox();
      expect([what, box !== null && box.y >= 0 && box.y + box.height <= 640]).toEqual([what, true]);
    }
  });

  it('does not warn when a client redirects to its own host', async () => {
    const { page } = await enter();
    await signIn(page, notes('https://tools.example/callback'));
    await page.waitForSelector(allow);
    expect(await page.locator('.note').count()).toBe(0);
    expect(await page.locator('.about > summary').textContent()).toContain('Published at tools.example');
  });
});

describe('a first visit', () => {
  it('a first visit transfers less than 20 KB: page, style and script', async () => {
    const { page, context } = await enter();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    const sizes = new Map<string, number>();
    const paths = new Map<string, string>();
    session.on('Network.responseReceived', ({ requestId, response }) => {
      paths.set(requestId, new URL(response.url).pathname);
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      sizes.set(paths.get(requestId) ?? requestId, encodedDataLength);
    });
    await page.goto(await request(), { waitUntil: 'networkidle' });
    // Network events arrive independently of what the page waits for.
    await expect.poll(() => sizes.size).toBeGreaterThanOrEqual(3);
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    expect([...sizes.keys()].map((path) => path.replace(/[\w-]{16}\./, ''))).toEqual(
      expect.arrayContaining(['/login', '/assets/css', '/assets/js']),
    );
    expect(sizes.size).toBe(3);
    expect(total).toBeLessThan(20_000);
  });
});
