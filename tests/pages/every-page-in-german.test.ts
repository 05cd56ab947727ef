/** Every page in every state, in German: axe finds nothing, nothing overflows, and what matters is in sight. */
import { beforeAll, describe, it } from 'vitest';
import { expectBearable, expectInSight, NARROW, survey } from './survey.ts';

let findings: Awaited<ReturnType<typeof survey>>;
beforeAll(async () => {
  // Its words are longer; colours are those of English.
  findings = await survey({ javaScriptEnabled: true, locale: 'de-DE' }, { checked: NARROW, keyboard: false });
}, 900_000);

describe('every page', () => {
  it('passes axe at every width, light and dark, without scrolling sideways, in German', () => {
    expectBearable(findings);
  });

  it('T073: that asks for consent shows all that matters on the first screen of a small phone, in German', () => {
    expectInSight(findings);
  });
});
