/** Strict JSON: one pass, bounded, and without duplicate and escaped names, on which parsers disagree. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readStrictJson } from '../src/parsing/strict-json.ts';

const LIMITS = { depth: 100, members: 1000, values: 10_000 };

/** What is said of a document that `JSON.parse` accepts, and reads in the same way. */
function issueOf(json: string, limits: Partial<typeof LIMITS> = {}): string | null {
  const expected: unknown = JSON.parse(json);
  try {
    expect(readStrictJson(json, { ...LIMITS, ...limits })).toEqual(expected);
    return null;
  } catch (error) {
    if (error instanceof SyntaxError) return String(error);
    throw error;
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

  it('rejects a document nested deeper than the limit', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect([issueOf(nested(16), { depth: 16 }), issueOf(nested(17), { depth: 16 })]).toEqual([
      null,
      expect.stringContaining('16 levels'),
    ]);
  });
});

describe('strict JSON', () => {
  it('[ALL-HTTP-61] rejects documents with more members or values than the limits, wherever they are', () => {
    const members = (count: number) =>
      `[${Array.from({ length: count }, (_, index) => `{"m${index}":[]}`).join()}]`;
    expect([issueOf(members(1000)), issueOf(members(1001))]).toEqual([
      null,
      expect.stringContaining('too many members'),
    ]);
    const values = (count: number) => `[${Array.from({ length: count - 1 }, () => '1').join()}]`;
    expect([issueOf(values(10_000)), issueOf(values(10_001))]).toEqual([
      null,
      expect.stringContaining('too many values'),
    ]);
  });

  it('stops where a limit is exceeded, before an error further on', () => {
    expect(() => readStrictJson(`[1,2,3${'!'.repeat(10)}`, { ...LIMITS, values: 2 })).toThrow(
      'too many values',
    );
  });

  it('reads a member named __proto__ as any other', () => {
    const value = readStrictJson('{"__proto__":{"a":1},"constructor":2}', LIMITS) as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('accepts exactly the documents that JSON.parse accepts, and reads them in the same way', () => {
    const json = fc.json({ maxDepth: 4 });
    const pieces = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '\\', '\\u0041', '\\x', '"a"', '1', '-', '0', '1.', '.5', '1e5'],
      ...[
        '1E+',
        'true',
        'nul',
        'null',
        ' ',
        '\n',
        '\t',
        '\u0000',
        '\u001f',
        '\u007f',
        '\u00a0',
        '\ud800',
        '\ufeff',
        'é',
      ],
    );
    const texts = fc.oneof(
      json,
      fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
      fc.tuple(json, fc.nat(), pieces).map(([text, at, piece]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place);
      }),
      fc.tuple(json, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let expected: { readonly value: unknown } | null = null;
        try {
          expected = { value: JSON.parse(text) };
        } catch {
          expected = null;
        }
        if (expected === null) {
          expect(() => readStrictJson(text, LIMITS)).toThrow(SyntaxError);
          return;
        }
        const issue = issueOf(text);
        if (issue !== null) expect(issue).toMatch(/repeats|with an escape/);
      }),
      { numRuns: 3000 },
    );
  });
});
