/** Statistics of repeated measurements, and their report: a table to read and JSON to compare. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { describeMachine } from './machine.ts';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** `0.181 (0.172..0.190)`: the median and the range. */
export function spread(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)}..${high.toFixed(digits)})`;
}

/** One part of a run. */
export interface Part {
  readonly title: string;
  /** What a reader needs to know about the table. */
  readonly notes: readonly string[];
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** All measurements. */
  readonly samples: unknown;
  /** Errors: wrong responses. */
  readonly issues: readonly string[];
}

const folder = new URL('../results/', import.meta.url);

/** Writes all measurements so far. @returns the files */
export function writeReport(parts: readonly Part[], began: Date): string {
  mkdirSync(folder, { recursive: true });
  const about = {
    began: began.toISOString(),
    ended: new Date().toISOString(),
    commit: commit(),
    machine: describeMachine(),
    loadAverage: loadavg().map((value) => value.toFixed(2)),
  };
  const markdown = [
    '# Measured by `npm run bench`',
    `${about.began} to ${about.ended}, commit ${about.commit}. ${about.machine}. Load average in the end: ${about.loadAverage.join(', ')}.`,
    ...parts.map(partText),
  ].join('\n\n');
  const name = `bench-${about.began.slice(0, 19).replaceAll(':', '')}`;
  for (const file of [name, 'latest']) {
    writeFileSync(new URL(`${file}.md`, folder), `${markdown}\n`);
    writeFileSync(new URL(`${file}.json`, folder), `${JSON.stringify({ ...about, parts }, null, 1)}\n`);
  }
  return `bench/results/${name}.md`;
}

export function partText({ title, notes, columns, rows, issues }: Part): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
  const wrong = issues.map((issue) => `**Wrong answer:** ${issue}`);
  return [`## ${title}`, ...notes, ...(columns.length > 0 ? [table] : []), ...wrong].join('\n\n');
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
