/** Waits until a page is painted, which is when a user begins to act on it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';

const IS_DRAWN = "performance.getEntriesByType('paint').length > 0";

/** Looks at a page that long, ten milliseconds each; what is not drawn then never will be. */
const MOST_LOOKS = 500;

/** A browser may drop what is clicked or typed before it has drawn a page for the first time, and says that it took it. */
export async function drawn(page: Page): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    if (await page.evaluate<boolean>(IS_DRAWN)) return;
    await sleep(10);
  }
}
