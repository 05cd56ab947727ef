/**
 * Every page in every state, in German, as it comes without JavaScript and as its script changes it: axe finds nothing, nothing
 * overflows, what matters is in sight, and the keyboard reaches everything.
 */
import { beforeAll, describe, it } from 'vitest';
import { expectBearable, expectInSight, expectReached, type Survey, survey } from './survey.ts';

/** German words are longer; the colours are those of English. */
const WANTED = {
  looks: [
    { colorScheme: 'light', width: 1280, axe: false },
    { colorScheme: 'light', width: 360, axe: true },
  ],
  keyboard: true,
} as const;

let seen: Survey;
beforeAll(async () => {
  seen = await survey({ javaScriptEnabled: false, locale: 'de-DE' }, WANTED);
}, 900_000);

describe('every page', () => {
  it('passes axe without scrolling sideways at every width, in German, without and with JavaScript', () => {
    expectBearable(seen, WANTED);
  });

  it('T073: that asks for consent shows all that matters on the first screen of a small phone, in German', () => {
    expectInSight(seen);
  });

  it('is reached whole by the keyboard, in order and in sight, without and with JavaScript', () => {
    expectReached(seen);
  });
});
