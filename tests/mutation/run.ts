/**
 * `npm run mutation [target]`, or `npm run mutation -- statements`: mutates the code that decides about redirects, codes, refreshes
 * and clients, or the SQL of the store, and prints the mutants that no test detects. Sources are changed in place while it runs:
 * use a separate clone.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { mutateStatements } from './statements.ts';
import { mutationTargets } from './targets.ts';

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
}
process.exit(worst);
