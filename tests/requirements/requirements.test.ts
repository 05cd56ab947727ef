/** The requirements gate: every promise of the list is named by a test, and every name in a test is on the list. */
import { describe, expect, it } from 'vitest';
import { readCases, readCitations } from './citations.ts';
import { compare, type Requirement } from './coverage.ts';
import { readAllCitations, readRequirements } from './workspace.ts';

describe('the requirements of this project', () => {
  const coverage = compare(readRequirements(), readAllCitations());

  it('are each named by a test when promised', () => {
    expect(coverage.missing.map(({ id, text }) => `${id}: ${text}`)).toEqual([]);
  });

  it('are the only ones that tests name', () => {
    expect(coverage.unknown).toEqual([]);
  });

  it('contradict nothing', () => {
    expect(coverage.issues).toEqual([]);
  });
});

describe('the gate', () => {
  const one: Requirement = {
    id: 'S-1',
    level: 'MUST',
    role: 'server',
    text: 'no token -> 401',
    source: 'somewhere',
    part: 'guard',
    status: 'covered',
  };
  const cited = (id: string) => [{ id, file: 'a.test.ts' }];

  it('passes what a test names', () => {
    expect(compare([one], cited('S-1'))).toEqual({ missing: [], unknown: [], issues: [] });
  });

  it('fails a promise that no test names', () => {
    expect(compare([one], []).missing).toEqual([one]);
  });

  it('asks no test for what is planned, deferred with a reason, or a note', () => {
    const list: readonly Requirement[] = [
      { ...one, status: 'planned' },
      { ...one, id: 'S-2', status: 'deferred', reason: 'the next part' },
      { ...one, id: 'S-3', status: 'note', level: 'INFO' },
    ];
    expect(compare(list, [])).toEqual({ missing: [], unknown: [], issues: [] });
  });

  it('fails an id that is not on the list', () => {
    expect(compare([one], [...cited('S-1'), ...cited('S-9')]).unknown).toEqual(cited('S-9'));
  });

  it.each([
    ['a deferral without a reason', [{ ...one, status: 'deferred' as const }], 'without a reason'],
    ['a rule passed off as a note', [{ ...one, status: 'note' as const }], 'needs no test, it does'],
    ['an id that stands twice', [one, one], 'stands twice'],
  ])('fails %s', (_name, list, expected) => {
    expect(compare(list, cited('S-1')).issues.join('\n')).toContain(expected);
  });
});

describe('reading the names in tests', () => {
  const ids = (text: string) => readCitations('a.test.ts', text).map(({ id }) => id);

  it.each([
    ['one', `it('[S-401-1] challenges', () => {})`, ['S-401-1']],
    ['several', `it('[S-401-1 S-FLOW-B1] challenges', () => {})`, ['S-401-1', 'S-FLOW-B1']],
    ['in a template', 'it(`[C-1] says`, () => {})', ['C-1']],
    ['on a suite', `describe('[AS-1] tokens', () => {})`, ['AS-1']],
    ['in a row of a table', `it.each([{ title: '[C-2] a' }])('$title', () => {})`, ['C-2']],
    ['none in a comment', `// [S-401-1]\nit('challenges', () => {})`, []],
    ['none in an array', `const ids = ['S-401-1'];`, []],
    ['none in a pattern', 'const id = /[A-Z0-9]/;', []],
    ['none in a skipped test', `it.skip('[S-1] a', () => {}); it('[S-2] b', () => {})`, ['S-2']],
    ['none in a test to be written', `it.todo('[S-1] a')`, []],
    ['none in a skipped table', `it.skip.each([['[S-1] a']])('%s', () => {})`, []],
    ['none inside a skipped suite', `describe.skip('x', () => { it('[S-1] a', () => {}) })`, []],
  ])('finds %s', (_name, text, expected) => {
    expect(ids(text)).toEqual(expected);
  });
});

describe('reading the numbers of attacks', () => {
  it.each([
    ['in a title', `it('[S-401-1] T018 T019: twice', () => {})`, ['T018', 'T019']],
    ['in a row of a table', `it.each([['T020 a', 1]])('%s', () => {})`, ['T020']],
    ['none in a comment', `// T018\nit('once', () => {})`, []],
    ['none in a longer word', `it('T0181 XT018', () => {})`, []],
    ['none of a test that never runs', `it.skip('T018 twice', () => {})`, []],
  ])('%s', (_name, text, expected) => {
    expect(readCases('a.test.ts', text).map(({ id }) => id)).toEqual(expected);
  });
});
