/** Scopes: their syntax, sets of scopes, and the scope hierarchy. */
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
    { description: 'readScopes parses one scope', given: 'notes:read', expect: ['notes:read'] },
    {
      description: 'readScopes parses several scopes in their order',
      given: 'b a c',
      expect: ['b', 'a', 'c'],
    },
    { description: 'readScopes returns a repeated scope once', given: 'a b a', expect: ['a', 'b'] },
    { description: 'readScopes tolerates several spaces', given: '  a   b ', expect: ['a', 'b'] },
    { description: 'readScopes parses an empty string as no scopes', given: '', expect: [] },
    {
      description: 'readScopes compares scopes case-sensitively',
      given: 'Read read',
      expect: ['Read', 'read'],
    },
    {
      description: 'readScopes parses every allowed character',
      given: "!#[]^_`{|}~*'",
      expect: ["!#[]^_`{|}~*'"],
    },
    {
      description: 'readScopes parses scopes named like object members',
      given: '__proto__ constructor',
      expect: ['__proto__', 'constructor'],
    },
    { description: 'readScopes rejects a double quote', given: 'a"b', expect: 'invalid_scope' },
    { description: 'readScopes rejects a backslash', given: 'a\\b', expect: 'invalid_scope' },
    { description: 'readScopes rejects a tab', given: 'a\tb', expect: 'invalid_scope' },
    { description: 'readScopes rejects a line break', given: 'a\r\nb', expect: 'invalid_scope' },
    { description: 'readScopes rejects a NUL', given: 'a\0', expect: 'invalid_scope' },
    { description: 'readScopes rejects a no-break space', given: 'a\u00a0b', expect: 'invalid_scope' },
    { description: 'readScopes rejects a letter outside of ASCII', given: 'lösen', expect: 'invalid_scope' },
    { description: 'readScopes accepts a thousand scopes', given: many(1000).join(' '), expect: many(1000) },
    {
      description: 'readScopes rejects more than a thousand scopes',
      given: many(1001).join(' '),
      expect: 'invalid_scope',
    },
    {
      description: 'readScopes accepts ten thousand characters',
      given: 'a'.repeat(10_000),
      expect: ['a'.repeat(10_000)],
    },
    {
      description: 'readScopes rejects more than ten thousand characters, which would not fit into a token',
      given: 'a'.repeat(10_001),
      expect: 'invalid_scope',
    },
    {
      description: 'readScopes rejects ten thousand scopes',
      given: many(10_000).join(' '),
      expect: 'invalid_scope',
    },
  ];
  it.each(cases)('T013 $description', ({ given, expect: expected }) => {
    expect(answerOf(() => readScopes(given))).toEqual(expected);
  });

  it('readScopes never repeats the scopes in its error', () => {
    expect(refusalOf(() => readScopes('"<script>')).message).not.toContain('script');
  });
});

describe('readRequestedScopes', () => {
  it.each([
    { description: 'left out', given: undefined, expect: null },
    { description: 'blank', given: '  ', expect: null },
    { description: 'named', given: 'a b', expect: ['a', 'b'] },
    { description: 'malformed', given: 'a\tb', expect: 'invalid_scope' },
  ])('readRequestedScopes reads a scope parameter that is $description', ({ given, expect: expected }) => {
    expect(answerOf(() => readRequestedScopes(given))).toEqual(expected);
  });
});

describe('salvageScopes', () => {
  it.each([
    { description: 'drops malformed scopes', given: 'a "b" c\\ d', expect: ['a', 'd'] },
    {
      description: 'never splits one scope into two at other white space',
      given: 'notes\u00a0admin x\ty',
      expect: [],
    },
    { description: 'drops control characters', given: 'a \u001b[31m b\u0000', expect: ['a'] },
    { description: 'keeps each scope once', given: 'a b a', expect: ['a', 'b'] },
  ])('salvageScopes $description', ({ given, expect: expected }) => {
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
    {
      description: 'missingScopes returns nothing when every scope is granted',
      given: [['read'], ['read']],
      expect: [],
    },
    {
      description: 'missingScopes returns a scope that is not granted',
      given: [['read', 'write'], ['read']],
      expect: ['write'],
    },
    {
      description: 'missingScopes returns every scope that is not granted at once',
      given: [['write', 'admin'], ['read']],
      expect: ['write', 'admin'],
    },
    {
      description: 'missingScopes lets a broad scope imply a narrow one',
      given: [['write'], ['admin']],
      expect: [],
    },
    {
      description: 'missingScopes follows the hierarchy to any depth',
      given: [['read'], ['admin']],
      expect: [],
    },
    {
      description: 'missingScopes never lets a narrow scope imply a broad one',
      given: [['admin'], ['read', 'write']],
      expect: ['admin'],
    },
    {
      description: 'missingScopes tolerates a circular hierarchy',
      given: [['circle', 'round'], ['round']],
      expect: [],
    },
    {
      description: 'missingScopes treats a prefix as another scope',
      given: [['read'], ['readx', 'rea', 'Read']],
      expect: ['read'],
    },
    { description: 'missingScopes returns nothing when no scope is needed', given: [[], []], expect: [] },
    {
      description: 'missingScopes lets members of every object imply nothing',
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

  it('missingScopes works without a hierarchy', () => {
    expect(missingScopes(['read'], ['admin'])).toEqual(['read']);
  });

  it('missingScopes reads a hierarchy whose keys are named like object members', () => {
    const parsed = JSON.parse('{"__proto__":["read"],"constructor":["write"]}') as ScopeHierarchy;
    expect(missingScopes(['read', 'write'], ['__proto__', 'constructor'], parsed)).toEqual([]);
    expect(missingScopes(['read'], ['toString'], parsed)).toEqual(['read']);
  });
});

describe('sets of scopes', () => {
  it.each([
    {
      description: 'the union of scopes keeps the first set first',
      given: [
        ['b', 'a'],
        ['c', 'a'],
      ],
      expect: ['b', 'a', 'c'],
    },
    {
      description: 'the union of scopes with an empty set is the set itself',
      given: [['a'], []],
      expect: ['a'],
    },
  ])('[C-STEP-30] $description', ({ given: [first = [], second = []], expect: expected }) => {
    expect(unionScopes(first, second)).toEqual(expected);
  });

  it('the intersection of scopes keeps the order of the first set', () => {
    expect(intersectScopes(['c', 'b', 'a'], ['a', 'c', 'd'])).toEqual(['c', 'a']);
  });
});

const scope = fc.string({ unit: fc.constantFrom(...'abz:/!#[]~_'), minLength: 1, maxLength: 6 });
const scopes = fc.uniqueArray(scope, { maxLength: 8 });

describe('for all scopes', () => {
  it('readScopes reads back every set of scopes that is written', () => {
    fc.assert(
      fc.property(scopes, (given) => {
        expect(readScopes(formatScopes(given))).toEqual(given);
      }),
    );
  });

  it('scopes that are read are well-formed, and salvaged unchanged', () => {
    fc.assert(
      fc.property(anyText, (given) => {
        const salvaged = readLenientScopes(given);
        expect(salvaged.every(isScope)).toBe(true);
        const read = answerOf(() => readScopes(given));
        if (typeof read !== 'string') expect(read).toEqual(salvaged);
      }),
    );
  });

  it('the union contains both sets of scopes, both contain the intersection, and nothing is missing from the union', () => {
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

  it('a scope hierarchy only ever adds scopes, and its expansion terminates', () => {
    fc.assert(
      fc.property(scopes, fc.dictionary(scope, scopes), (granted, hierarchy) => {
        const implied = impliedScopes(granted, hierarchy);
        expect(granted.every((one) => implied.has(one))).toBe(true);
        expect(impliedScopes([...implied], hierarchy)).toEqual(implied);
      }),
    );
  });
});
