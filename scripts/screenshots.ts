/** Photographs every page at 360 and 1280 px, light and dark, with and without JavaScript, in every language, into the folder `screenshots`. */
import { mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../tests/support/browser.ts';
import { type Gallery, openGallery, PASSWORD } from './photographs/gallery.ts';
import { type Scene, scenes } from './photographs/scenes.ts';

/** The cookies of a browser in which Ada is signed in. */
type SignedIn = Awaited<ReturnType<BrowserContext['storageState']>>;

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
/** In what browsers: the name of each stands in those of its pictures. */
const BROWSERS = [
  { name: '', javaScriptEnabled: true, locale: 'en-GB', widths: [360, 1280] },
  { name: '-no-script', javaScriptEnabled: false, locale: 'en-GB', widths: [360, 1280] },
  { name: '-german', javaScriptEnabled: true, locale: 'de-DE', widths: [360] },
] as const;
const SCHEMES = ['light', 'dark'] as const;

/** Before there is an account. */
const first: readonly Scene[] = [
  { name: 'setup', open: async (page, _context, { setupLink }) => void (await page.goto(setupLink ?? '')) },
  {
    name: 'setup-failed',
    async open(page, _context, { setupLink }) {
      await page.goto(setupLink ?? '');
      await page.fill('[name=email]', 'ada@example.com');
      await page.fill('[name=password]', 'short');
      await page.fill('[name=password_again]', 'short');
      await page.click('button');
    },
  },
];

async function photograph(
  browser: Browser,
  gallery: Gallery,
  { name, open, fresh = false }: Scene,
  signedIn: SignedIn | null,
): Promise<void> {
  for (const { name: where, widths, ...options } of BROWSERS) {
    const context = await browser.newContext({
      ...options,
      reducedMotion: 'reduce',
      ...(fresh || signedIn === null ? {} : { storageState: signedIn }),
    });
    const page = await context.newPage();
    await page.setViewportSize({ width: 360, height: 640 });
    await open(page, context, gallery);
    for (const colorScheme of SCHEMES) await shoot(page, `${name}${where}`, colorScheme, widths);
    await context.close();
  }
}

async function shoot(
  page: Page,
  name: string,
  colorScheme: (typeof SCHEMES)[number],
  widths: readonly number[],
): Promise<void> {
  await page.emulateMedia({ colorScheme });
  for (const width of widths) {
    await page.setViewportSize({ width, height: width === 360 ? 640 : 800 });
    await page.screenshot({ path: `${folder}${name}-${width}-${colorScheme}.png` });
  }
}

/** Lets Ada connect two apps, so that there is something to see. */
async function connect(browser: Browser, gallery: Gallery): Promise<SignedIn> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const app = createServer((_request, response) => response.end('The app'));
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const redirect_uri = `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`;
  for (const clientId of ['desk', gallery.stranger]) {
    await page.goto(gallery.url({ client_id: clientId, redirect_uri, scope: 'read write' }));
    if (page.url().includes('/login')) {
      await page.fill('[name=email]', 'ada@example.com');
      await page.fill('[name=password]', PASSWORD);
      await page.click('form[action="/login"] button');
    }
    await page.click('[value=allow]');
    await page.waitForURL(`${redirect_uri}?**`);
    await gallery.redeem(new URL(page.url()), clientId);
  }
  app.close();
  app.closeAllConnections();
  const signedIn = await context.storageState();
  await context.close();
  return signedIn;
}

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const browser = await launchChromium();
const [empty, full] = await Promise.all([openGallery(false), openGallery(true)]);
try {
  for (const scene of first) await photograph(browser, empty, scene, null);
  const signedIn = await connect(browser, full);
  for (const scene of scenes) {
    await photograph(browser, full, scene, signedIn);
  }
} finally {
  await browser.close();
  await Promise.all([empty.close(), full.close()]);
}
process.stdout.write(`The screenshots stand in ${folder}\n`);
