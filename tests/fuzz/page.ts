/** docs/fuzz.md: what a run of all targets tried and found. */
import { table } from '../../scripts/documents/markdown.ts';

export interface FuzzedTarget {
  readonly name: string;
  readonly tries: number;
  /** Inputs that took a new way through the code. */
  readonly kept: number;
  /** Branches that this target reached. */
  readonly edges: number;
}

interface FuzzRun {
  readonly seconds: number;
  readonly edges: number;
  readonly failures: number;
  readonly slowest: { readonly milliseconds: number; readonly target: string; readonly length: number };
}

export function fuzzPage(targets: readonly FuzzedTarget[], run: FuzzRun): string {
  const tries = targets.reduce((sum, target) => sum + target.tries, 0);
  const number = (value: number) => value.toLocaleString('en');
  const rows = targets.map(({ name, tries, kept, edges }) => [
    name,
    number(tries),
    number(kept),
    number(edges),
  ]);
  const slow =
    run.slowest.milliseconds > 50
      ? `The slowest input takes ${run.slowest.milliseconds.toFixed(0)} ms (${run.slowest.target}, ${number(run.slowest.length)} characters).`
      : 'No input takes longer than 50 ms.';
  return `# Fuzzing

Every parser of untrusted input, and every endpoint, is fed with inputs that are changed at random; those that take a new branch are kept and changed further. A result must keep its invariants, an error must be an OAuth error with a status below 500, and nothing may take longer than 50 ms. [tests/fuzz](../tests/fuzz/targets.ts) lists the targets with their invariants.

\`npm run fuzz -- 600\` runs all of them for ten minutes and writes this page; \`npm run fuzz -- 60 challenge\` runs one. \`npm test\` repeats every input that was ever kept.

## Last run

${number(tries)} inputs in ${number(run.seconds)} s, ${number(run.edges)} branches reached, **${run.failures} failures**. ${slow}

${table(['target', 'inputs', 'kept', 'branches'], rows)}
`;
}
