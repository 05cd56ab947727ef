/** Checks of expected and actual values, shown as a table. */
import { isDeepStrictEqual } from 'node:util';

export interface Check {
  readonly chapter: string;
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly passed: boolean;
}

export interface Checks {
  readonly all: readonly Check[];
  /** Records an actual value, and whether it was expected. */
  expect(chapter: string, what: string, expected: unknown, seen: unknown): void;
}

export function createChecks(): Checks {
  const all: Check[] = [];
  return {
    all,
    expect(chapter, what, expected, seen) {
      const passed = isDeepStrictEqual(expected, seen);
      all.push({ chapter, what, expected: show(expected), seen: show(seen), passed });
    },
  };
}

const LONGEST = 60;

function show(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The table, with a column for each member. */
export function formatChecks(checks: readonly Check[]): string {
  const rows = [
    ['', 'chapter', 'what', 'expected', 'seen'],
    ...checks.map(({ passed, chapter, what, expected, seen }) => [
      passed ? 'ok' : 'FAIL',
      chapter,
      what,
      expected,
      seen,
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}
