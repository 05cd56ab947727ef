/**
 * `npm run mutation [target]`, or `npm run mutation -- statements`: mutates the code that decides about redirects, codes, refreshes
 * and clients, or the SQL of the store, prints the mutants that no test detects, and writes the figures into docs/mutation.md.
 * Sources are changed in place while it runs: use a separate clone.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { type MutationResult, publishResults } from './page.ts';
import { mutateStatements } from './statements.ts';
import { mutationTargets } from './targets.ts';

/** Where stryker.json says. */
const REPORT = 'node_modules/.cache/mutation.json';

interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>;
}

const [, , ...named] = process.argv;
if (named[0] === 'statements') process.exit(mutateStatements(named.slice(1)));

const { resolve } = createRequire(import.meta.url);
const stryker = join(dirname(resolve('@stryker-mutator/core/package.json')), 'bin/stryker.js');
let worst = 0;
for (const name of named.length > 0 ? named : Object.keys(mutationTargets)) {
  const mutate = mutationTargets[name]?.mutate.map((path) => `packages/${path}`).join();
  if (mutate === undefined)
    throw new Error(`unknown target ${name}; use one of ${Object.keys(mutationTargets).join(', ')}.`);
  const { status } = spawnSync(
    process.execPath,
    [stryker, 'run', 'tests/mutation/stryker.json', '--mutate', mutate],
    { stdio: 'inherit', env: { ...process.env, MUTATION: name } },
  );
  worst = Math.max(worst, status ?? 1);
  if (status === 0) publishResults(readResults(name));
}
process.exit(worst);

function readResults(target: string): readonly MutationResult[] {
  const { files }: Report = JSON.parse(readFileSync(REPORT, 'utf8'));
  return Object.entries(files).map(([path, { mutants }]) => {
    const count = (...statuses: readonly string[]) =>
      mutants.filter(({ status }) => statuses.includes(status)).length;
    const detected = count('Killed', 'Timeout');
    const source = `\`${basename(path)}\``;
    const date = new Date().toISOString().slice(0, 10);
    return { target, source, mutants: detected + count('Survived', 'NoCoverage'), detected, date };
  });
}
