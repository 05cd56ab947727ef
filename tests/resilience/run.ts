/** `npm run resilience`: all kills and all rounds of races, which take some minutes. `SEED` repeats a run of kills. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', 'tests/resilience', '--reporter=verbose'], {
  stdio: 'inherit',
  env: { ...process.env, RESILIENCE: 'whole' },
});
process.exit(status ?? 1);
