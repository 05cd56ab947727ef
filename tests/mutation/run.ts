/**
 * `npm run mutation [protocol|server]`: changes one thing after the other in what decides over redirects, codes, refreshes and clients,
 * and tells which changes no test notices. It changes the sources in place while it runs: in a clone of its own, best of all.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const stryker = join(
  dirname(createRequire(import.meta.url).resolve('@stryker-mutator/core/package.json')),
  'bin/stryker.js',
);
const [, , ...named] = process.argv;
let worst = 0;
for (const room of named.length > 0 ? named : ['protocol', 'server']) {
  const { status } = spawnSync(process.execPath, [stryker, 'run', `tests/mutation/${room}.json`], {
    stdio: 'inherit',
    env: { ...process.env, MUTATION: room },
  });
  worst = Math.max(worst, status ?? 1);
}
process.exit(worst);
