/** Measures the first page that a user sees when an app opens it: bytes and time in a real Chromium with an empty cache. `node --conditions=portcullis-source bench/pages.ts [visits]` */
import { createHash } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../tests/support/browser.ts';
import { startPortcullis } from '../tests/support/portcullis.ts';

const [visits = 20] = process.argv.slice(2).map(Number);

/** The targets for a first page: bytes transferred with all resources, and milliseconds until it is loaded. */
const AIMS = { bytes: 20_000, milliseconds: 50 };

interface Visit {
  readonly bytes: number;
  /** Milliseconds from the click, including the redirect, until the page is fully loaded. */
  readonly loaded: number;
  /** Milliseconds until the first paint. */
  readonly painted: number;
}

async function visit(browser: Browser, url: string): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(url, { waitUntil: 'networkidle' });
  const [loaded, painted] = (await page.evaluate(
    `[performance.getEntriesByType('navigation')[0].loadEventEnd, performance.getEntriesByName('first-contentful-paint')[0].startTime]`,
  )) as [number, number];
  await context.close();
  return { bytes, loaded, painted };
}

/** Milliseconds in the server alone: the app's authorization request, and the page that it leads to. */
async function ask(url: string): Promise<number> {
  const start = performance.now();
  const begun = await fetch(url, { redirect: 'manual' });
  const cookie = begun.headers.getSetCookie().map((line) => line.split(';')[0]);
  const location = new URL(begun.headers.get('location') ?? '', url);
  const page = await fetch(location, { headers: { cookie: cookie.join('; ') } });
  if (!(await page.text()).includes('name="password"')) throw new Error('That is no sign-in page.');
  return performance.now() - start;
}

// No user sends this many requests in such a short time.
const server = await startPortcullis({ rateLimits: false });
const browser = await launchChromium();
try {
  const registered = await fetch(`${server.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Notes CLI',
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const request = {
    response_type: 'code',
    client_id,
    code_challenge: createHash('sha256').update('a'.repeat(43)).digest('base64url'),
    code_challenge_method: 'S256',
  };
  const url = `${server.url}/authorize?${new URLSearchParams(request)}`;
  // The first visits start browser processes and warm up the server.
  for (let n = 0; n < 3; n += 1) await visit(browser, url);
  const all: Visit[] = [];
  for (let n = 0; n < visits; n += 1) all.push(await visit(browser, url));
  const alone: number[] = [];
  for (let n = 0; n < visits * 5; n += 1) alone.push(await ask(url));
  const bytes = Math.max(...all.map((one) => one.bytes));
  const loaded = figures(all.map((one) => one.loaded));
  const painted = figures(all.map((one) => one.painted));
  console.log(`first page, with style and script: ${bytes} bytes over the network (aim ${AIMS.bytes})`);
  console.log(`loaded ${loaded} ms, painted ${painted} ms after the click (aim ${AIMS.milliseconds})`);
  console.log(`of these the server, for the request and the page: ${figures(alone)} ms`);
  if (bytes >= AIMS.bytes) process.exitCode = 1;
} finally {
  await browser.close();
  await server.stop();
}

/** Median and range. */
function figures(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toPrecision(2);
  return `${Number(at(0.5))} (${Number(at(0))}..${Number(at(1))})`;
}
