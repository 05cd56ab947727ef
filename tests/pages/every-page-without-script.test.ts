/** Every page in every state without JavaScript: axe finds nothing, nothing overflows, and the keyboard reaches everything. */
import { beforeAll, describe, it } from 'vitest';
import { expectBearable, expectReached, NARROW, survey } from './survey.ts';

let findings: Awaited<ReturnType<typeof survey>>;
beforeAll(async () => {
  findings = await survey({ javaScriptEnabled: false, locale: 'en-GB' }, { checked: NARROW, keyboard: true });
}, 900_000);

describe('every page', () => {
  it('passes axe at every width, light and dark, without scrolling sideways, without JavaScript', () => {
    expectBearable(findings);
  });

  it('is reached whole by the keyboard, in order and in sight, without JavaScript', () => {
    expectReached(findings);
  });
});
