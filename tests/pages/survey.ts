/** A survey of every page in every state, in one kind of browser: one walk whose observations several tests check. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Habits, walk } from '../../scripts/gallery/walk.ts';
import { findViolations } from '../support/axe.ts';
import { launchChromium } from '../support/browser.ts';

/** How a page is looked at. The last look is 360 px wide: the keyboard walk runs at that size. */
interface Look {
  readonly colorScheme: 'light' | 'dark';
  readonly width: number;
  /** Whether axe checks it: contrast depends neither on the language nor on scripts. */
  readonly axe: boolean;
}

/** What was seen of a page in one look. */
interface Sight {
  readonly look: Look;
  /** Empty when axe does not check this look. */
  readonly violations: unknown;
  readonly overflows: boolean;
}

/** Whether the page scrolls sideways, breaks the word of a tab, or makes a column of the text beside a button. */
const OVERFLOWS = `document.documentElement.scrollWidth > innerWidth ||
  [...document.querySelectorAll('.tabs a')].some((tab) => tab.offsetHeight > 48) ||
  [...document.querySelectorAll('li.beside > div')].some((text) => text.checkVisibility() && text.offsetWidth < 200)`;

async function lookAt(page: Page, look: Look): Promise<Sight> {
  await page.emulateMedia({ colorScheme: look.colorScheme });
  await page.setViewportSize({ width: look.width, height: 640 });
  const overflows: boolean = await page.evaluate(OVERFLOWS);
  return { look, violations: look.axe ? await findViolations(page) : [], overflows };
}

/** What a user can act on, in page order. */
const REACHABLE = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')]
  .filter((element) => element.checkVisibility())`;

/** From now on, the position and focus ring of each element that is focused. A page with an autofocus begins in its middle. */
const FOCUSED = `(() => {
  document.activeElement.blur();
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute('tabindex');
  const focused = [];
  document.addEventListener('focusin', ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    focused.push([${REACHABLE}.indexOf(target), outlineStyle === 'solid' && outlineWidth === '3px']);
  });
  return focused;
})()`;

/** From nowhere, every Tab leads to the next thing, in the order of the page, with a ring that is seen. */
async function walkByKeyboard(page: Page, count: number): Promise<readonly unknown[]> {
  const focused = await page.evaluateHandle<unknown[]>(FOCUSED);
  await Promise.all(Array.from({ length: count }, () => page.keyboard.down('Tab')));
  await page.keyboard.up('Tab');
  return focused.jsonValue();
}

/** What a user must know before answering and a screen of 360 by 640 does not show without scrolling, or the buttons cover. */
const OUT_OF_SIGHT = `(() => {
  const always = '.head > h1, .head > .fact, .about > summary, .caution, .note, .backends, .powers li, .field select';
  // Groups of permissions come before the buttons, which are not fixed there.
  const isGrouped = document.querySelector('.group') !== null;
  const matters = always + (isGrouped ? ', .group:first-of-type .first' : ', .foot button');
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

/** Whether a scene asks for consent, as the page comes. */
function asksForConsent(name: string): boolean {
  return name.startsWith('consent') && !name.endsWith('-opened');
}

/** What was seen of a page. */
interface Finding {
  readonly name: string;
  readonly sights: readonly Sight[];
  /** Where each Tab led, and whether one could see it. */
  readonly tabs: readonly unknown[];
  /** How many things there are to act on. */
  readonly reachable: number;
}

/** What is looked for. */
interface Wanted {
  readonly looks: readonly Look[];
  readonly keyboard: boolean;
}

async function inspect(page: Page, name: string, { looks, keyboard }: Wanted): Promise<Finding> {
  const sights: Sight[] = [];
  for (const look of looks) sights.push(await lookAt(page, look));
  const reachable: number = await page.evaluate(`${REACHABLE}.length`);
  return { name, sights, reachable, tabs: keyboard ? await walkByKeyboard(page, reachable) : [] };
}

/** Runs the script that a page came with and its browser ignored. @returns whether that changed the page */
async function runScript(page: Page): Promise<boolean> {
  const before = await page.content();
  const sources: string[] = await page.evaluate('[...document.scripts].map(({ src }) => src)');
  for (const source of sources) await page.evaluate(await (await fetch(source)).text());
  return (await page.content()) !== before;
}

export interface Survey {
  readonly findings: readonly Finding[];
  /** The pages that ask for consent, and what of them is out of sight on the first screen of a small phone. */
  readonly consents: readonly (readonly [string, unknown])[];
}

/** Looks at every page; in a browser without scripts as it comes, and as its script would change it. */
export async function survey(habits: Habits, wanted: Wanted): Promise<Survey> {
  const browser = await launchChromium();
  const findings: Finding[] = [];
  const consents: [string, unknown][] = [];
  try {
    await walk(browser, habits, async (page, name) => {
      // First, as it comes: at the size of a small phone.
      if (asksForConsent(name)) consents.push([name, await page.evaluate(OUT_OF_SIGHT)]);
      // A browser focuses what has an autofocus some time after it loaded the page.
      if ((await page.locator('[autofocus]').count()) > 0) await page.locator('[autofocus]:focus').waitFor();
      if (habits.javaScriptEnabled !== false) {
        findings.push(await inspect(page, name, wanted));
        return;
      }
      // The scripts of the test run, axe among them; the page remains as it came.
      const session = await page.context().newCDPSession(page);
      const disable = (value: boolean) => session.send('Emulation.setScriptExecutionDisabled', { value });
      // A session can only enable what it has disabled itself.
      await disable(true);
      await disable(false);
      findings.push(await inspect(page, name, wanted));
      if (await runScript(page)) findings.push(await inspect(page, `${name} with its script`, wanted));
      await disable(true);
      await session.detach();
    });
  } finally {
    await browser.close();
  }
  return { findings, consents };
}

export function expectBearable({ findings }: Survey, { looks }: Wanted): void {
  const names = findings.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(70);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, sights } of findings) {
    expect([name, sights]).toEqual([name, looks.map((look) => ({ look, violations: [], overflows: false }))]);
  }
}

export function expectReached({ findings }: Survey): void {
  expect(findings.filter(({ name }) => name.endsWith('with its script')).length).toBeGreaterThan(20);
  for (const { name, tabs, reachable } of findings) {
    expect([name, tabs]).toEqual([name, Array.from({ length: reachable }, (_, index) => [index, true])]);
  }
}

export function expectInSight({ consents }: Survey): void {
  expect(consents.length).toBeGreaterThanOrEqual(8);
  for (const [name, outOfSight] of consents) expect([name, outOfSight]).toEqual([name, []]);
}
