/** NFKC in linear time: the same as the runtime's, but for more consecutive marks than any language has. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacters } from '../../../tests/support/any-text.ts';
import { toNfkc } from '../src/index.ts';
import { growthOf, LINEAR } from './growth.ts';

const BASES = ['a', 'e', 'ﬁ', '가', '\u1100', '\u1161', 'カ', '\u{1d400}', ' '];
const MARKS = ['\u0300', '\u0315', '\u0301', '\u0327', '\u0345', '\u0344', '\uff9e', '\u3099', '\u09be'];

describe('toNfkc', () => {
  it('normalizes any text as the runtime does', () => {
    const syllable = fc
      .tuple(fc.constantFrom(...BASES), fc.array(fc.constantFrom(...MARKS), { maxLength: 30 }))
      .map(([base, marks]) => base + marks.join(''));
    const texts = fc.oneof(
      fc.array(syllable).map((all) => all.join('')),
      anyCharacters(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(toNfkc(text)).toBe(text.normalize('NFKC'));
      }),
    );
  });

  it('normalizes more than 30 marks in pieces, and what follows as ever', () => {
    expect(toNfkc(`ﬁ${'\u0315'.repeat(30)}\u0300ﬁe\u0301`)).toBe(`fi${'\u0315'.repeat(30)}\u0300fié`);
  });

  it.each([
    ['marks that are not in order', '\u0315\u0300'],
    ['halfwidth marks between others', '\uff9e\u0300'],
    ['accents', 'e\u0301'],
    ['letters', 'é'],
  ])('takes linear time for %s', (_what, part) => {
    expect(growthOf(toNfkc, (length) => `a${part.repeat(length / part.length)}`)).toBeLessThan(LINEAR);
  });
});
