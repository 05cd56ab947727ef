/** Visits every page in every state that users encounter, in one kind of browser. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { type Gallery, type GalleryKind, openGallery, PASSWORD } from './gallery.ts';
import { untilPainted } from './paint.ts';
import { type Scene, scenes } from './scenes.ts';

/** The cookies of a browser in which Ada is signed in. */
type SignedIn = Awaited<ReturnType<BrowserContext['cookies']>>;

/** Takes a screenshot of a page under a unique name. */
export type Look = (page: Page, name: string) => Promise<void>;

/** The kind of browser, and the prefix of the names of the pages to visit. */
export type Habits = BrowserContextOptions & { readonly only?: string };

export async function walk(browser: Browser, options: Habits, look: Look): Promise<void> {
  const galleries = {
    empty: await openGallery('empty'),
    full: await openGallery('full'),
    both: await openGallery('both'),
    company: await openGallery('company'),
    elsewhere: await openGallery('elsewhere'),
    linked: await openGallery('linked'),
  };
  try {
    const { only, ...habits } = options;
    const context = await browser.newContext({ reducedMotion: 'reduce', ...habits });
    // One page for all: each page of another context would start a process.
    const page = await context.newPage();
    const signedIn: Partial<Record<GalleryKind, SignedIn>> = {
      full: await connect(page, galleries.full),
      linked: await connect(page, galleries.linked),
    };
    for (const scene of scenes.filter(({ name }) => name.startsWith(only ?? ''))) {
      const kind = scene.gallery ?? 'full';
      await context.clearCookies();
      if (scene.fresh !== true) await context.addCookies(signedIn[kind] ?? []);
      await see(page, galleries[kind], scene);
      await look(page, scene.name);
    }
    await context.close();
  } finally {
    await Promise.all(Object.values(galleries).map((gallery) => gallery.close()));
  }
}

/** Opens a scene at the size of a small phone, in the page of the scene before. */
async function see(page: Page, gallery: Gallery, { open }: Scene): Promise<void> {
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize({ width: 360, height: 640 });
  await open(page, page.context(), gallery);
  // Our script reveals hidden elements.
  await page.waitForLoadState();
  await untilPainted(page);
}

/** Lets Ada connect two apps, one of them twice, so that the page has connections to list and to distinguish. */
async function connect(page: Page, gallery: Gallery): Promise<SignedIn> {
  await page.context().clearCookies();
  const app = createServer((_request, response) => response.end('The app'));
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const redirect_uri = `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`;
  for (const clientId of ['desk', gallery.other, 'desk']) {
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
  return page.context().cookies();
}
