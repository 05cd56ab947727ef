/** Every page in every state, in English and with JavaScript: axe finds nothing, nothing overflows, and the keyboard reaches everything. */
import { beforeAll, describe, it } from 'vitest';
import { expectBearable, expectInSight, expectReached, LOOKS, survey } from './survey.ts';

let findings: Awaited<ReturnType<typeof survey>>;
beforeAll(async () => {
  findings = await survey({ javaScriptEnabled: true, locale: 'en-GB' }, { checked: LOOKS, keyboard: true });
}, 900_000);

describe('every page', () => {
  it('passes axe at every width, light and dark, without scrolling sideways, with JavaScript', () => {
    expectBearable(findings);
  });

  it('T073: that asks for consent shows all that matters on the first screen of a small phone, in English', () => {
    expectInSight(findings);
  });

  it('is reached whole by the keyboard, in order and in sight, with JavaScript', () => {
    expectReached(findings);
  });
});
