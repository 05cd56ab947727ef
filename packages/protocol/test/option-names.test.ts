/** Unknown option names, and the names suggested in their place. */
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
  ])('findSimilarName, given %j, returns %j', (word, meant) => {
    expect(findSimilarName(word, known)).toBe(meant);
    const advice =
      meant === null ? 'expected one of scopes, hierarchy, clientId, skew' : `did you mean ${meant}?`;
    expect(suggestName(word, known)).toBe(advice);
  });
});

it('the name that was meant is the longer one of two that are as near', () => {
  expect(findSimilarName('proceses', ['process', 'processes'])).toBe('processes');
  expect(findSimilarName('proces', ['process', 'processes'])).toBe('process');
});

describe('unknown names', () => {
  const known = { window: true, required: true } as const;
  it.each<[string, unknown, readonly string[]]>([
    ['known names', { window: 1, required: true }, []],
    ['no options', {}, []],
    ['a misspelled name', { windw: 1 }, ['dpop.windw: unknown option; did you mean window?']],
    ['a misspelled name with an undefined value', { windw: undefined }, ['dpop.windw: unknown option; did you mean window?']],
    ['several unknown names', { a: 1, required: true, bbb: 2 }, ['dpop.a: unknown option; expected one of window, required', 'dpop.bbb: unknown option; expected one of window, required']],
    ['a name that every object inherits', { toString: 1 }, ['dpop.toString: unknown option; expected one of window, required']],
    ['nothing', undefined, []],
    ['false', false, []],
    ['a list', ['x'], []],
  ])('unknownOptionIssues reports every unknown option name, given %s', (_what, given, issues) => {
    expect(unknownOptionIssues(given, known, 'dpop.')).toEqual(issues);
  }); // biome-ignore format: a table
});
