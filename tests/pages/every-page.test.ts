/** Every page in every state, in English and with JavaScript: axe finds nothing, nothing overflows, and what matters is in sight. */
import { beforeAll, describe, it } from 'vitest';
import { expectBearable, expectInSight, type Survey, survey } from './survey.ts';

/** Each width and each scheme once: contrast does not depend on the width. */
const WANTED = {
  looks: [
    { colorScheme: 'dark', width: 1280, axe: true },
    { colorScheme: 'light', width: 360, axe: true },
  ],
  keyboard: false,
} as const;

let seen: Survey;
beforeAll(async () => {
  seen = await survey({ javaScriptEnabled: true, locale: 'en-GB' }, WANTED);
}, 900_000);

describe('every page', () => {
  it('passes axe at every width, light and dark, without scrolling sideways, with JavaScript', () => {
    expectBearable(seen, WANTED);
  });

  it('T073: that asks for consent shows all that matters on the first screen of a small phone, in English', () => {
    expectInSight(seen);
  });
});
