/** Doctor's HTML report in a real browser: accessible on any screen, and nothing of a server's runs or loads. */
import axe, { type AxeResults } from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../../tests/support/browser.ts';
import { createWorld } from '../../client/test/support/world.ts';
import { examine } from '../src/doctor/examine.ts';
import { reportHtml } from '../src/doctor/report-html.ts';

let chromium: Browser;
let page: string;

beforeAll(async () => {
  chromium = await launchChromium();
  const world = await createWorld({
    metadata: {
      authorization_response_iss_parameter_supported: false,
      evil: '<script>document.title=1</script>',
    },
    resource: { scopes_supported: [`a${'b'.repeat(300)}`] },
  });
  const { browser, receiver } = world.user;
  const client = { serverUrl: world.serverUrl, browser, receiver };
  page = reportHtml(await examine({ client, signIn: true, version: '1' }));
});

afterAll(() => chromium.close());

it.each([
  [1100, 'light'],
  [1100, 'dark'],
  [360, 'light'],
  [360, 'dark'],
] as const)('doctor’s report fits a %s px wide %s screen and is accessible', async (width, colorScheme) => {
  const tab = await chromium.newPage({ viewport: { width, height: 800 }, colorScheme });
  const requested: string[] = [];
  tab.on('request', (request) => requested.push(request.url()));
  await tab.setContent(page);
  await tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  const wide: number = await tab.evaluate('document.documentElement.scrollWidth');
  expect(wide).toBeLessThanOrEqual(width);
  expect(await tab.locator('svg[role=img] text.digit').count()).toBeGreaterThan(10);
  expect(await tab.title()).toMatch(/^Authorization of http/);
  expect(requested).toEqual([]);
  // The page’s content security policy forbids scripts, so axe bypasses it.
  const other = await chromium.newPage({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
  await other.setContent(page);
  await other.evaluate(axe.source);
  const results: AxeResults = await other.evaluate('axe.run(document)');
  expect(results.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  await Promise.all([tab.close(), other.close()]);
});
