/** Every page in every state: axe finds nothing, nothing overflows, and the keyboard reaches everything, with JavaScript and without. */
import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Habits, walk } from '../../scripts/photographs/walk.ts';
import { launchChromium } from '../support/browser.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(() => browser.close());

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

async function violationsOf(page: Page): Promise<unknown> {
  const results: AxeResults = await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly: TAGS, resultTypes: ['violations'] })})`,
  );
  return results.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
}

const LOOKS = [
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 360 },
  { colorScheme: 'dark', width: 1280 },
] as const;

/** Each width and each scheme once: colours know nothing of the width. */
const DIAGONAL = [LOOKS[0], LOOKS[3]];

/** Looks at a page at every width and in both schemes. @param judged the looks that axe judges too */
async function inspect(page: Page, name: string, judged: readonly object[]): Promise<void> {
  await page.evaluate(axe.source);
  for (const look of LOOKS) {
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.setViewportSize({ width: look.width, height: 740 });
    const overflows = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    const violations = judged.includes(look) ? await violationsOf(page) : [];
    expect([name, look, violations, overflows]).toEqual([name, look, [], false]);
  }
}

/** What somebody can act on, in the order of the page; and, of what has the focus now, its place there and its ring. */
const REACHABLE = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select')]
  .filter((element) => element.checkVisibility())`;
const FOCUSED = `(() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return [${REACHABLE}.indexOf(document.activeElement), outlineStyle === 'solid' && outlineWidth === '3px'];
})()`;

/** From nowhere, every Tab leads to the next thing, in the order of the page, with a ring that is seen. */
async function walkByKeyboard(page: Page, name: string): Promise<void> {
  await page.evaluate('document.activeElement.blur()');
  const count: number = await page.evaluate(`${REACHABLE}.length`);
  // The page begins somewhere when it has an autofocus: from its end one comes to its beginning.
  await page.evaluate(
    `document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')`,
  );
  const seen: unknown[] = [];
  for (let n = 0; n < count; n++) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(FOCUSED));
  }
  expect([name, seen]).toEqual([name, Array.from({ length: count }, (_, index) => [index, true])]);
}

/** Of what a person must know before they answer: what a screen of 360 by 640 does not show without scrolling, or the answers cover. */
const OUT_OF_SIGHT = `(() => {
  const matters = '.head > h1, .head > .fact, .note, .powers li, .field select, .foot .fact, .foot button';
  const foot = document.querySelector('.foot').getBoundingClientRect();
  return [...document.querySelectorAll(matters)]
    .filter((element) => element.checkVisibility())
    .filter((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      const isOfFoot = element.closest('.foot') !== null;
      return top < 0 || bottom > 640 || (!isOfFoot && bottom > foot.top + 1);
    })
    .map((element) => element.textContent.trim());
})()`;

describe('every page', { timeout: 400_000 }, () => {
  it.each<[string, Habits, readonly object[]]>([
    ['with JavaScript', { javaScriptEnabled: true, locale: 'en-GB' }, LOOKS],
    // Axe itself is JavaScript: what it looks at is the page to which no script of ours came.
    ['without JavaScript', { script: 'lost', locale: 'en-GB' }, DIAGONAL],
    ['in German', { javaScriptEnabled: true, locale: 'de-DE' }, DIAGONAL],
  ])(
    'passes axe at every width, light and dark, without scrolling sideways, %s',
    async (_how, options, judged) => {
      const names: string[] = [];
      await walk(browser, options, async (page, name) => {
        names.push(name);
        await inspect(page, name, judged);
      });
      expect(names.length).toBeGreaterThan(30);
      expect(new Set(names).size).toBe(names.length);
    },
  );

  it.each([
    ['English', 'en-GB'],
    ['German', 'de-DE'],
  ])(
    'T073: that asks for consent shows all that matters on the first screen of a small phone, in %s',
    async (_language, locale) => {
      let seen = 0;
      await walk(browser, { locale, only: 'consent' }, async (page, name) => {
        seen += 1;
        expect([name, await page.evaluate(OUT_OF_SIGHT)]).toEqual([name, []]);
      });
      expect(seen).toBeGreaterThanOrEqual(8);
    },
  );

  it.each([
    ['with JavaScript', true],
    ['without JavaScript', false],
  ])('is reached whole by the keyboard, in order and in sight, %s', async (_how, javaScriptEnabled) => {
    await walk(browser, { javaScriptEnabled, locale: 'en-GB' }, walkByKeyboard);
  });
});
