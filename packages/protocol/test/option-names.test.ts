/** Unknown option names, and the suggested ones. */
import { describe, expect, it } from 'vitest';
import { findSimilarName, suggestName, unknownOptionIssues } from '../src/option-names.ts';

describe('the name that was meant', () => {
  const known = ['scopes', 'hierarchy', 'clientId', 'skew'];
  it.each<[string, string | null]>([
    ['scope', 'scopes'],
    ['hierachy', 'hierarchy'],
    ['heirarchy', 'hierarchy'],
    ['clientID', 'clientId'],
    ['sekw', 'skew'],
    ['skewed', null],
    ['colour', null],
    ['', null],
  ])('%j: %j', (word, meant) => {
    expect(findSimilarName(word, known)).toBe(meant);
    const advice =
      meant === null ? 'expected one of scopes, hierarchy, clientId, skew' : `did you mean ${meant}?`;
    expect(suggestName(word, known)).toBe(advice);
  });
});

describe('unknown names', () => {
  const known = { window: true, required: true } as const;
  it.each<[string, unknown, readonly string[]]>([
    ['good ones', { window: 1, required: true }, []],
    ['none', {}, []],
    ['one that was spelled wrong', { windw: 1 }, ['dpop.windw: unknown option; did you mean window?']],
    ['one at no value', { windw: undefined }, ['dpop.windw: unknown option; did you mean window?']],
    ['all of them', { a: 1, required: true, bbb: 2 }, ['dpop.a: unknown option; expected one of window, required', 'dpop.bbb: unknown option; expected one of window, required']],
    ['those that every object inherits', { toString: 1 }, ['dpop.toString: unknown option; expected one of window, required']],
    ['nothing', undefined, []],
    ['false', false, []],
    ['a list', ['x'], []],
  ])('%s', (_what, given, issues) => {
    expect(unknownOptionIssues(given, known, 'dpop.')).toEqual(issues);
  }); // biome-ignore format: a table
});
