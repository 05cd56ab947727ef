/** Names in disguise: what only somebody writes who wants readers to disagree. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasDisguisedName } from '../src/disguised-names.ts';

/** A text as JSON with every character as an escape. */
const escaped = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;

describe('T096 T112 a name in disguise', () => {
  it.each([
    ['a letter', '{"\\u006dethod":1}'],
    ['a letter in capitals', '{"\\u006Dethod":1}'],
    ['its last letter', '{"metho\\u0064" : 1}'],
    ['a digit', '{"a\\u0031":1}'],
    ['an underscore', '{"redirect\\u005furis":1}'],
    ['deep inside', '[1,{"a":[{"\\u0061"\n\t:1}]}]'],
    ['behind strings full of quotes', '{"\\"":"\\\\\\"","\\u0061":1}'],
  ])('is found: %s', (_, text) => {
    expect(hasDisguisedName(text)).toBe(true);
  });

  it.each([
    ['plain names', '{"method":"x"}'],
    ['a value', '{"method":"\\u006dethod"}'],
    ['an entry', '["\\u006d",":"]'],
    ['letters beyond ASCII', '{"gr\\u00f6\\u00dfe":1}'],
    ['what has to be escaped, or often is', '{"\\"\\\\\\n\\u0000\\u003c\\u0022\\/":1}'],
    ['nothing', ''],
  ])('is not: %s', (_, text) => {
    expect(hasDisguisedName(text)).toBe(false);
  });

  it('is found in any document, and in none that an encoder writes', () => {
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^\w+$/), (json, name) => {
        // A backslash before such letters is no escape, though it looks like one.
        fc.pre(!json.includes('\\\\u00'));
        expect(hasDisguisedName(json)).toBe(false);
        expect(hasDisguisedName(`{"before":${json},${escaped(name)}:1}`)).toBe(true);
        expect(hasDisguisedName(`{"before":${json},"after":${escaped(name)}}`)).toBe(false);
      }),
    );
  });
});
