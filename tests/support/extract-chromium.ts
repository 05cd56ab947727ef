/** Unpacks Chromium into the temporary folder of its environment; `browser.ts` runs it in a process of its own. */
import chromium from '@sparticuz/chromium';

await chromium.executablePath();
