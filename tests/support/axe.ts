/** Accessibility of the page in a browser, by axe. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * Minified, because each page parses it: half a check's time otherwise. Non-ASCII characters are escaped: V8 stores a string with any
 * character beyond Latin-1 in two bytes a character.
 */
const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8').replaceAll(
  /[\u0080-\uffff]/g,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
);

const OPTIONS = JSON.stringify({
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
  // Of what axe can load in addition, style sheets are only for a rule that is off.
  preload: { assets: ['media'] },
});

/** @returns of each rule that the page breaks its name, and the elements as HTML */
export async function findViolations(page: Page): Promise<readonly (readonly string[])[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(source);
  const { violations }: AxeResults = await page.evaluate(`axe.run(document, ${OPTIONS})`);
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
}
