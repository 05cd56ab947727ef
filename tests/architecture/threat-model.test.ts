/** Every row of the threat model, and every promise, names an existing test. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findUnshown } from './threat-rows.ts';

const PLACES = [
  'packages/*/test/**/*.ts',
  'packages/store/testing/*.ts',
  'tests/**/*.ts',
  'docs/mutation.md',
];

describe('docs/threat-model.md and SECURITY.md', () => {
  const tests = PLACES.flatMap((place) => globSync(place)).map((path) => ({
    path,
    text: readFileSync(path, 'utf8'),
  }));

  it('names tests that there are, for every threat', () => {
    expect(tests.length).toBeGreaterThan(200);
    expect(findUnshown(readFileSync('docs/threat-model.md', 'utf8'), tests)).toEqual([]);
  });

  it('names tests that there are, for every promise', () => {
    const page = readFileSync('SECURITY.md', 'utf8');
    expect(page.match(/^\| (?!promise)[^|]+\|/gm)?.length).toBeGreaterThan(6);
    expect(findUnshown(page, tests)).toEqual([]);
  });
});

describe('the check of its rows', () => {
  const tests = [
    { path: 'packages/a/test/gates.test.ts', text: "it('T001: stays shut', …); it('T002 opens', …)" },
    { path: 'tests/far/windows.test.ts', text: "it('S-1-1: is tight', …)" },
  ];
  const page = (cell: string) => `| threat | defence | test |\n|---|---|---|\n| rain | a roof | ${cell} |`;

  it.each([
    '`gates.test.ts`',
    '`gates.test.ts`: T001 to T002, stays shut',
    '`test/gates.test.ts`: opens; `windows.test.ts`: S-1-1, Is tight',
    '`gates.test.ts` and `windows.test.ts`: T001, S-1-1',
    '`windows.test.ts`, `npm run rain`',
  ])('takes %s', (cell) => {
    expect(findUnshown(page(cell), tests)).toEqual([]);
  });

  it.each([
    ['', 'rain: names no test'],
    ['reading', 'rain: names no test'],
    ['`roof.test.ts`', 'rain: roof.test.ts is not there'],
    ['`far/gates.test.ts`', 'rain: far/gates.test.ts is not there'],
    ['`ates.test.ts`', 'rain: ates.test.ts is not there'],
    ['`gates.test.ts`: T001 to T003', 'rain: no T003 in gates.test.ts'],
    ['`gates.test.ts`: T001; `windows.test.ts`: T002', 'rain: no T002 in windows.test.ts'],
  ])('finds what is wrong with %s', (cell, issue) => {
    expect(findUnshown(page(cell), tests)).toEqual([issue]);
  });
});
