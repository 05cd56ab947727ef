/** Scopes: the grammar, the sets, and the hierarchy. */
import {
  formatScopes,
  impliedScopes,
  intersectScopes,
  isScope,
  missingScopes,
  readLenientScopes,
  readRequestedScopes,
  readScopes,
  type ScopeHierarchy,
  unionScopes,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, refusalOf } from './refusal.ts';
import { anyText } from './texts.ts';

const many = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`);

describe('readScopes', () => {
  const cases: readonly { description: string; given: string; expect: readonly string[] | string }[] = [
    { description: 'one', given: 'notes:read', expect: ['notes:read'] },
    { description: 'several, in their order', given: 'b a c', expect: ['b', 'a', 'c'] },
    { description: 'a repeated one, once', given: 'a b a', expect: ['a', 'b'] },
    { description: 'several spaces', given: '  a   b ', expect: ['a', 'b'] },
    { description: 'none', given: '', expect: [] },
    { description: 'case matters', given: 'Read read', expect: ['Read', 'read'] },
    { description: 'every allowed character', given: "!#[]^_`{|}~*'", expect: ["!#[]^_`{|}~*'"] },
    {
      description: 'names of object members',
      given: '__proto__ constructor',
      expect: ['__proto__', 'constructor'],
    },
    { description: 'a double quote', given: 'a"b', expect: 'invalid_scope' },
    { description: 'a backslash', given: 'a\\b', expect: 'invalid_scope' },
    { description: 'a tab', given: 'a\tb', expect: 'invalid_scope' },
    { description: 'a line break', given: 'a\r\nb', expect: 'invalid_scope' },
    { description: 'a NUL', given: 'a\0', expect: 'invalid_scope' },
    { description: 'a no-break space', given: 'a\u00a0b', expect: 'invalid_scope' },
    { description: 'a letter outside of ASCII', given: 'lösen', expect: 'invalid_scope' },
    { description: 'a hundred', given: many(100).join(' '), expect: many(100) },
    { description: 'more than a hundred', given: many(101).join(' '), expect: 'invalid_scope' },
    { description: 'ten thousand', given: many(10_000).join(' '), expect: 'invalid_scope' },
  ];
  it.each(cases)('T013 $description', ({ given, expect: expected }) => {
    expect(answerOf(() => readScopes(given))).toEqual(expected);
  });

  it('never repeats what was sent', () => {
    expect(refusalOf(() => readScopes('"<script>')).message).not.toContain('script');
  });
});

describe('readRequestedScopes', () => {
  it.each([
    { description: 'left out', given: undefined, expect: null },
    { description: 'blank', given: '  ', expect: null },
    { description: 'named', given: 'a b', expect: ['a', 'b'] },
    { description: 'malformed', given: 'a\tb', expect: 'invalid_scope' },
  ])('$description', ({ given, expect: expected }) => {
    expect(answerOf(() => readRequestedScopes(given))).toEqual(expected);
  });
});

describe('salvageScopes', () => {
  it.each([
    { description: 'drops what is malformed', given: 'a "b" c\\ d', expect: ['a', 'd'] },
    {
      description: 'never makes two scopes of one at another white space',
      given: 'notes\u00a0admin x\ty',
      expect: [],
    },
    { description: 'drops control characters', given: 'a \u001b[31m b\u0000', expect: ['a'] },
    { description: 'keeps each once', given: 'a b a', expect: ['a', 'b'] },
  ])('$description', ({ given, expect: expected }) => {
    expect(readLenientScopes(given)).toEqual(expected);
  });
});

describe('missingScopes', () => {
  const hierarchy: ScopeHierarchy = {
    admin: ['write'],
    write: ['read'],
    circle: ['round'],
    round: ['circle'],
  };
  const cases: readonly { description: string; given: [string[], string[]]; expect: string[] }[] = [
    { description: 'all are there', given: [['read'], ['read']], expect: [] },
    { description: 'one is not', given: [['read', 'write'], ['read']], expect: ['write'] },
    {
      description: 'all that are not, at once',
      given: [['write', 'admin'], ['read']],
      expect: ['write', 'admin'],
    },
    { description: 'a broad one implies a narrow one', given: [['write'], ['admin']], expect: [] },
    { description: 'to any depth', given: [['read'], ['admin']], expect: [] },
    { description: 'never upwards', given: [['admin'], ['read', 'write']], expect: ['admin'] },
    { description: 'round a circle', given: [['circle', 'round'], ['round']], expect: [] },
    {
      description: 'a prefix is another scope',
      given: [['read'], ['readx', 'rea', 'Read']],
      expect: ['read'],
    },
    { description: 'nothing is needed', given: [[], []], expect: [] },
    {
      description: 'members of every object imply nothing',
      given: [['x'], ['__proto__', 'constructor', 'toString']],
      expect: ['x'],
    },
  ];
  it.each(cases)(
    '[S-SCOPE-30 S-403-31] T096 $description',
    ({ given: [needed, granted], expect: expected }) => {
      expect(missingScopes(needed, granted, hierarchy)).toEqual(expected);
    },
  );

  it('asks nothing of a hierarchy that is not there', () => {
    expect(missingScopes(['read'], ['admin'])).toEqual(['read']);
  });

  it('reads a hierarchy whose keys are names of object members', () => {
    const parsed = JSON.parse('{"__proto__":["read"],"constructor":["write"]}') as ScopeHierarchy;
    expect(missingScopes(['read', 'write'], ['__proto__', 'constructor'], parsed)).toEqual([]);
    expect(missingScopes(['read'], ['toString'], parsed)).toEqual(['read']);
  });
});

describe('sets of scopes', () => {
  it.each([
    {
      description: 'the first set stands first',
      given: [
        ['b', 'a'],
        ['c', 'a'],
      ],
      expect: ['b', 'a', 'c'],
    },
    { description: 'with nothing', given: [['a'], []], expect: ['a'] },
  ])('[C-STEP-30] union: $description', ({ given: [first = [], second = []], expect: expected }) => {
    expect(unionScopes(first, second)).toEqual(expected);
  });

  it('intersects in the order of the first', () => {
    expect(intersectScopes(['c', 'b', 'a'], ['a', 'c', 'd'])).toEqual(['c', 'a']);
  });
});

const scope = fc.string({ unit: fc.constantFrom(...'abz:/!#[]~_'), minLength: 1, maxLength: 6 });
const scopes = fc.uniqueArray(scope, { maxLength: 8 });

describe('for all scopes', () => {
  it('what is written is read back', () => {
    fc.assert(
      fc.property(scopes, (given) => {
        expect(readScopes(formatScopes(given))).toEqual(given);
      }),
    );
  });

  it('what is read is well-formed, and salvaged the same', () => {
    fc.assert(
      fc.property(anyText, (given) => {
        const salvaged = readLenientScopes(given);
        expect(salvaged.every(isScope)).toBe(true);
        const read = answerOf(() => readScopes(given));
        if (typeof read !== 'string') expect(read).toEqual(salvaged);
      }),
    );
  });

  it('union holds both, intersection is held by both, nothing is missing from a union', () => {
    fc.assert(
      fc.property(scopes, scopes, (first, second) => {
        const union = unionScopes(first, second);
        expect(new Set(union)).toEqual(new Set([...first, ...second]));
        expect(new Set(union).size).toBe(union.length);
        expect(missingScopes(first, union)).toEqual([]);
        expect(missingScopes(intersectScopes(first, second), second)).toEqual([]);
      }),
    );
  });

  it('a hierarchy only ever adds, and ends', () => {
    fc.assert(
      fc.property(scopes, fc.dictionary(scope, scopes), (granted, hierarchy) => {
        const implied = impliedScopes(granted, hierarchy);
        expect(granted.every((one) => implied.has(one))).toBe(true);
        expect(impliedScopes([...implied], hierarchy)).toEqual(implied);
      }),
    );
  });
});
