/** The console in a real browser: accessibility in every look, its size, and the keyboard. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findViolations } from '../../../../tests/support/axe.ts';
import { launchChromium } from '../../../../tests/support/browser.ts';
import type { TestBackend } from '../../../gateway/test/support/backend.ts';
import { SECTIONS } from '../../src/console/links.ts';
import { consoleRoutes } from '../../src/console/routes.ts';
import { type Installation, signIn, startInstallation } from '../installation.ts';
import { furnish, furnishedConfiguration, startBackends } from './furnished.ts';
import { NO_PAGES, samplesFor } from './samples.ts';
import { TWO_FACTORS_USED, visitConsole } from './visitor.ts';

/** Each width and each scheme once: contrast does not depend on the width. */
const LOOKS = [
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 1200 },
] as const;

let t: Installation;
let backend: TestBackend;
let samples: ReturnType<typeof samplesFor>;
let browser: Browser;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  backend = await startBackends();
  t = await startInstallation(furnishedConfiguration(backend.url));
  samples = samplesFor(await furnish(t, backend.url), new URL(backend.url).origin);
  browser = await launchChromium();
  const context = await browser.newContext();
  const [name = '', value = ''] = (await signIn(t, TWO_FACTORS_USED, { role: 'operator' })).split('=');
  await context.addCookies([{ name, value, url: t.url }]);
  page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
});
afterAll(async () => {
  await browser?.close();
  await t.stop();
  await backend.close();
});

const pages = consoleRoutes
  .filter(({ method, path }) => method === 'GET' && !NO_PAGES.includes(path))
  .map(({ path }) => path);
const open = (route: string) => page.goto(`${t.url}${samples[route]?.path ?? ''}`);

describe('the console in a browser', () => {
  it.each(pages)('%s is accessible and fits, on narrow and wide screens, light and dark', async (route) => {
    await open(route);
    for (const { colorScheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 740 });
      expect([width, colorScheme, await findViolations(page)]).toEqual([width, colorScheme, []]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
    expect(errors).toEqual([]);
  });

  it('a phone shows the name of each section below its icon, in a bar of its width', async () => {
    await open('/admin');
    await page.setViewportSize({ width: 360, height: 740 });
    const names = page.locator('.side li a > span:not(.unseen)');
    const boxes = await names.evaluateAll((spans) =>
      spans.map((span) => {
        const { left, right, width, height } = span.getBoundingClientRect();
        return left >= 0 && right <= 360 && width > 16 && height === 12;
      }),
    );
    expect(boxes).toEqual(SECTIONS.map(() => true));
  });

  it('a first visit of every page takes less than 60 KB with styles and scripts', async () => {
    const visitor = await visitConsole(t);
    for (const route of pages) {
      const { html } = await visitor.open(samples[route]?.path ?? '');
      const assets = [...html.matchAll(/(?:href|src)="(\/admin\/assets\/[^"]+)"/g)].map(
        ([, path = '']) => path,
      );
      expect(assets.length).toBeGreaterThan(1);
      const sizes = await Promise.all(
        assets.map(async (path) => {
          const response = await fetch(`${t.url}${path}`, { headers: { 'accept-encoding': 'gzip' } });
          await response.arrayBuffer();
          return Number(response.headers.get('content-length'));
        }),
      );
      const total = Buffer.byteLength(html) + sizes.reduce((sum, size) => sum + size, 0);
      expect(sizes.every((size) => size > 0)).toBe(true);
      expect(total, route).toBeLessThan(60_000);
    }
  });

  it('finds a user by the command palette, with the keyboard alone', async () => {
    await open('/admin');
    await page.keyboard.press('Control+k');
    await page.locator('#palette input:focus').waitFor();
    await page.keyboard.type('grace');
    await page.locator('#palette [role=option][aria-selected=true]', { hasText: 'grace' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/admin\/users\/user_/);
    expect(await page.locator('h1').textContent()).toBe('Ada Lovelace');
  });

  it('shows its keys, goes to a list, enters it and leaves it by keyboard', async () => {
    await open('/admin');
    await page.keyboard.press('?');
    await page.locator('#keys[open]').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#keys[open]').waitFor({ state: 'detached' });
    const goToUsers = async () => {
      await page.keyboard.press('g');
      await page.keyboard.press('u');
      await page.waitForURL(/\/admin\/users$/, { timeout: 10_000 });
    };
    // The second key has two seconds in the page.
    await expect.poll(() => goToUsers().then(() => true)).toBe(true);
    await page.keyboard.press('j');
    await page.locator('tbody tr:first-child a:focus').waitFor();
    await page.keyboard.press('j');
    await page.locator('tbody tr:nth-child(2) a:focus').waitFor();
    await page.keyboard.press('/');
    await page.locator('[data-search]:focus').waitFor();
    await page.keyboard.type('grace');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=grace/);
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  it('sorts a list by keyboard, and says by which column', async () => {
    await page.setViewportSize({ width: 1200, height: 740 });
    await page.goto(`${t.url}/admin/users`);
    await page.locator('th a', { hasText: 'Account' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/sort=account/);
    expect(await page.locator('th[aria-sort=ascending]').textContent()).toContain('Account');
    expect(await findViolations(page)).toEqual([]);
  });

  it('the first Tab reaches a link that skips the navigation', async () => {
    await open('/admin/users');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  it('disables a user by keyboard, after saying what ends, and undoes it', async () => {
    await open('/admin/users/{userId}/disable');
    expect(await page.locator('.effects').textContent()).toContain(
      'Ends 1 session and 1 connection of 1 app',
    );
    await page.locator('#reason').focus();
    await page.keyboard.type('left the company');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('[role=status]').waitFor();
    expect(await page.locator('[role=status]').textContent()).toContain('The account is disabled');
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Undo' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The account can sign in again.').waitFor();
  });
});
