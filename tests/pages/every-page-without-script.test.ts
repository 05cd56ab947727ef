/** Every page in every state without JavaScript: axe finds nothing, nothing overflows, and the keyboard reaches everything. */
import { describe, it } from 'vitest';
import { expectBearable, expectReached, NARROW, survey } from './survey.ts';

describe('every page', { timeout: 900_000 }, () => {
  it('passes axe at every width, light and dark, without scrolling sideways, without JavaScript', async () => {
    // Axe itself is JavaScript: what it looks at is the page to which no script of ours came.
    const habits = { script: 'lost', locale: 'en-GB' } as const;
    expectBearable(await survey(habits, { checked: NARROW, keyboard: false }));
  });

  it('is reached whole by the keyboard, in order and in sight, without JavaScript', async () => {
    const habits = { javaScriptEnabled: false, locale: 'en-GB' };
    expectReached(await survey(habits, { checked: [], keyboard: true }));
  });
});
