/** docs/mutation.md: the table of the newest run of each target. What is written around it is kept. */
import { readFileSync, writeFileSync } from 'node:fs';
import { table } from '../../scripts/documents/markdown.ts';

/** Of one source file, or of all SQL. */
export interface MutationResult {
  readonly target: string;
  /** A file, as code; or what else was mutated. */
  readonly source: string;
  readonly mutants: number;
  readonly detected: number;
  /** The day of the run. */
  readonly date: string;
}

const PAGE = new URL('../../docs/mutation.md', import.meta.url);
const HEAD = ['target', 'source', 'mutants', 'detected', 'share', 'date'];

/** Replaces the rows of the targets that ran. */
export function publishResults(results: readonly MutationResult[]): void {
  writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), results));
}

/** The page with these rows instead of those of the same targets, in the order of the page; new targets come last. */
export function withResults(page: string, results: readonly MutationResult[]): string {
  const [written = ''] = /^\| target \|.*\n(?:\|.*\n?)+/m.exec(page) ?? [];
  const old = written
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.slice(2, -2).split(' | '));
  const ran = new Set(results.map(({ target }) => target));
  const targets = new Set([...old.map(([target = '']) => target), ...ran]);
  const rows = [...targets].flatMap((target) =>
    ran.has(target)
      ? results.filter((result) => result.target === target).map(rowOf)
      : old.filter(([name]) => name === target),
  );
  return page.replace(written, `${table(HEAD, rows)}\n`);
}

function rowOf({ target, source, mutants, detected, date }: MutationResult): readonly string[] {
  const share = `${((100 * detected) / mutants).toFixed(1)} %`;
  return [target, source, String(mutants), String(detected), share, date];
}
