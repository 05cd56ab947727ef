/** JSON member names: rejects duplicate and escaped names, on which parsers disagree. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkJsonMembers } from '../src/parsing/json-members.ts';

/** What is said of a document. */
function issueOf(json: string, deepest = 100): string | null {
  try {
    checkJsonMembers(json, JSON.parse(json), deepest);
    return null;
  } catch (error) {
    return String(error);
  }
}

const DISGUISED = expect.stringContaining('with an escape');

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
  ])('detects an escaped member name: %s', (_, text) => {
    expect(issueOf(text)).toEqual(DISGUISED);
  });

  it.each([
    ['plain names', '{"method":"x"}'],
    ['a value', '{"method":"\\u006dethod"}'],
    ['an entry', '["\\u006d",":"]'],
    ['letters beyond ASCII', '{"gr\\u00f6\\u00dfe":1}'],
    ['what has to be escaped, or often is', '{"\\"\\\\\\n\\u0000\\u003c\\u0022\\/":1}'],
    ['nothing', '{}'],
  ])('reports no escaped member name: %s', (_, text) => {
    expect(issueOf(text)).toBeNull();
  });

  it('detects an escaped member name in any document, and none in the output of a JSON encoder', () => {
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^\w+$/), (json, name) => {
        // What V8 makes of escaped names depends on what it has read before.
        fc.pre(!json.includes('\\'));
        expect(issueOf(json)).toBeNull();
        expect(issueOf(`{"before":${json},${escaped(name)}:1}`)).toEqual(DISGUISED);
        expect(issueOf(`{"before":${json},"after":${escaped(name)}}`)).toBeNull();
      }),
    );
  });
});

describe('T112 a name that is there twice', () => {
  it('detects a duplicate member name in any document, at any depth', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), fc.string(), (one, other, name) => {
        const quoted = JSON.stringify(name);
        fc.pre(!`${one}${other}${quoted}`.includes('\\'));
        const twice = `{${quoted}:${one},${quoted} :${other}}`;
        expect(issueOf(`[${one},{"in":${twice}}]`)).toContain('repeats');
        expect(issueOf(`[{${quoted}:${one}},{${quoted}:${other}}]`)).toBeNull();
      }),
    );
  });

  it('rejects a document nested deeper than the limit for duplicate member names', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect([issueOf(nested(16), 16), issueOf(nested(17), 16)]).toEqual([
      null,
      expect.stringContaining('16 levels'),
    ]);
  });
});
