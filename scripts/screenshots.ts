/** Takes screenshots of every page at 360, 768 and 1280 px, light and dark, with and without JavaScript, in English and German, into the folder `screenshots`. */
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { launchChromium } from '../tests/support/browser.ts';
import { walk } from './gallery/walk.ts';

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
const SCHEMES = ['light', 'dark'] as const;

/** The browsers; the name of each is part of the file names of its screenshots. */
const BROWSERS = [
  { where: '', javaScriptEnabled: true, locale: 'en-GB', widths: [360, 768, 1280] },
  { where: '-no-script', javaScriptEnabled: false, locale: 'en-GB', widths: [360, 768, 1280] },
  { where: '-german', javaScriptEnabled: true, locale: 'de-DE', widths: [360, 1280] },
];

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const browser = await launchChromium();
try {
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
} finally {
  await browser.close();
}
process.stdout.write(`The screenshots stand in ${folder}\n`);
