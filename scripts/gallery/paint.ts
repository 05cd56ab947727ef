/** Waits until a page is painted, which is when a user starts to act on it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';

const IS_PAINTED = "performance.getEntriesByType('paint').length > 0";

/** The number of checks, ten milliseconds apart, after which a page will never be painted. */
const MAX_CHECKS = 500;

/** A browser may drop clicks and keys that arrive before the first paint, although it reports them as handled. */
export async function untilPainted(page: Page): Promise<void> {
  for (let checks = 0; checks < MAX_CHECKS; checks += 1) {
    if (await page.evaluate<boolean>(IS_PAINTED)) return;
    await sleep(10);
  }
}
