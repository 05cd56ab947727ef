/** Takes screenshots of every page at 360, 768 and 1280 px, light and dark, with and without JavaScript, in English and German, into the folder `screenshots`; with `documents`, the pictures of docs/images. */
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../tests/support/browser.ts';
import { takeDocumentImages } from './gallery/document-images.ts';
import { walk } from './gallery/walk.ts';

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
const SCHEMES = ['light', 'dark'] as const;

/** The browsers; the name of each is part of the file names of its screenshots. */
const BROWSERS = [
  { where: '', javaScriptEnabled: true, locale: 'en-GB', widths: [360, 768, 1280] },
  { where: '-no-script', javaScriptEnabled: false, locale: 'en-GB', widths: [360, 768, 1280] },
  { where: '-german', javaScriptEnabled: true, locale: 'de-DE', widths: [360, 1280] },
];

async function takeAll(browser: Browser): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { where, widths, ...options } of BROWSERS) {
    await walk(browser, options, async (page, name) => {
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        for (const width of widths) {
          await page.setViewportSize({ width, height: width === 360 ? 640 : 800 });
          await page.screenshot({ path: `${folder}${name}${where}-${width}-${colorScheme}.png` });
        }
      }
    });
  }
  process.stdout.write(`The screenshots are in ${folder}\n`);
}

const browser = await launchChromium();
try {
  await (process.argv.includes('documents') ? takeDocumentImages(browser) : takeAll(browser));
} finally {
  await browser.close();
}
