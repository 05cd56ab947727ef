/**
 * `npm run resilience`: all kills and all rounds of races, which take some minutes. `SEED` repeats a run of kills.
 * With `-- --long`: a million rounds and a thousand kills, which take hours; `--long=0.1` tries a tenth of them. Other arguments
 * name test files.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const isLong = (argument: string) => /^--long(=|$)/.test(argument);
const given = process.argv.slice(2);
const long = given.find(isLong);
const share = Number(long?.split('=')[1] ?? 1);
if (!(share > 0 && share <= 1)) {
  console.error('Write --long, or a part of it such as --long=0.1.');
  process.exit(2);
}
const files = given.filter((argument) => !isLong(argument));

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const tests = files.length > 0 ? files : ['tests/resilience'];
const { status } = spawnSync(process.execPath, [vitest, 'run', ...tests, '--reporter=verbose'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    RESILIENCE: long === undefined ? 'whole' : 'long',
    RESILIENCE_SHARE: String(share),
  },
});
process.exit(status ?? 1);
