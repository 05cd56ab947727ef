/** A survey of every page in every state, in one kind of browser: one walk whose observations several tests check. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Habits, walk } from '../../scripts/gallery/walk.ts';
import { findViolations } from '../support/axe.ts';
import { launchChromium } from '../support/browser.ts';

/** Each width and each scheme once: colours know nothing of the width. */
export const LOOKS = [
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 1280 },
] as const;

type Look = (typeof LOOKS)[number];

/** Where a page that differs by its words or by a missing script can fail. */
export const NARROW: readonly Look[] = [LOOKS[0]];

/** What was seen of a page in one look. */
interface Sight {
  readonly look: Look;
  /** Empty when axe does not check this look. */
  readonly violations: unknown;
  readonly overflows: boolean;
}

/** Whether the page scrolls sideways, or breaks the word of a tab. */
const OVERFLOWS = `document.documentElement.scrollWidth > innerWidth ||
  [...document.querySelectorAll('.tabs a')].some((tab) => tab.offsetHeight > 48)`;

/** Looks at a page at every width and in both schemes. @param checked the looks that axe checks too */
async function inspect(page: Page, checked: readonly Look[]): Promise<readonly Sight[]> {
  const sights: Sight[] = [];
  for (const look of LOOKS) {
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.setViewportSize({ width: look.width, height: 740 });
    const overflows: boolean = await page.evaluate(OVERFLOWS);
    const violations = checked.includes(look) ? await findViolations(page) : [];
    sights.push({ look, violations, overflows });
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize({ width: 360, height: 640 });
  return sights;
}

/** Lets axe, which is a script, look at a page that came without scripts and remains as it came. */
async function inspectWithoutScripts(page: Page, checked: readonly Look[]): Promise<readonly Sight[]> {
  const session = await page.context().newCDPSession(page);
  const disable = (value: boolean) => session.send('Emulation.setScriptExecutionDisabled', { value });
  // A session can only enable what it has disabled itself.
  await disable(true);
  await disable(false);
  const sights = await inspect(page, checked);
  await disable(true);
  return sights;
}

/** What a user can act on, in page order; and the position and focus ring of the focused element. */
const REACHABLE = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary')]
  .filter((element) => element.checkVisibility())`;
const FOCUSED = `(() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return [${REACHABLE}.indexOf(document.activeElement), outlineStyle === 'solid' && outlineWidth === '3px'];
})()`;

/** From nowhere, every Tab leads to the next thing, in the order of the page, with a ring that is seen. */
async function walkByKeyboard(page: Page): Promise<readonly unknown[]> {
  // A browser focuses what has an autofocus some time after it loaded the page: until then it would begin there again.
  if ((await page.locator('[autofocus]').count()) > 0) await page.locator('[autofocus]:focus').waitFor();
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
  return seen;
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
  /** Of a page that asks for consent, on the first screen of a small phone. */
  readonly outOfSight: unknown;
}

/** What is looked for. */
interface Wanted {
  /** The looks that axe checks. */
  readonly checked: readonly Look[];
  readonly keyboard: boolean;
}

export async function survey(habits: Habits, wanted: Wanted): Promise<readonly Finding[]> {
  const browser = await launchChromium();
  const findings: Finding[] = [];
  try {
    await walk(browser, habits, async (page, name) => {
      // First, as it comes: at the size of a small phone.
      const outOfSight = asksForConsent(name) ? await page.evaluate(OUT_OF_SIGHT) : [];
      const look = habits.javaScriptEnabled === false ? inspectWithoutScripts : inspect;
      const sights = await look(page, wanted.checked);
      const reachable: number = await page.evaluate(`${REACHABLE}.length`);
      const tabs = wanted.keyboard ? await walkByKeyboard(page) : [];
      findings.push({ name, sights, tabs, reachable, outOfSight });
    });
  } finally {
    await browser.close();
  }
  return findings;
}

export function expectBearable(findings: readonly Finding[]): void {
  const names = findings.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(30);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, sights } of findings) {
    expect([name, sights]).toEqual([name, LOOKS.map((look) => ({ look, violations: [], overflows: false }))]);
  }
}

export function expectReached(findings: readonly Finding[]): void {
  expect(findings.length).toBeGreaterThan(30);
  for (const { name, tabs, reachable } of findings) {
    expect([name, tabs]).toEqual([name, Array.from({ length: reachable }, (_, index) => [index, true])]);
  }
}

export function expectInSight(findings: readonly Finding[]): void {
  const asking = findings.filter(({ name }) => asksForConsent(name));
  expect(asking.length).toBeGreaterThanOrEqual(8);
  for (const { name, outOfSight } of asking) expect([name, outOfSight]).toEqual([name, []]);
}
