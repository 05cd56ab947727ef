/**
 * Builds the documentation site into site/dist; a broken link fails it. Its tools are installed by its own lock file, apart from
 * those of the repository. `npm run site`; `npm run site -- --dev` serves it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder: string = fileURLToPath(new URL('../site/', import.meta.url));

/** Milliseconds for the installation and for the build: seconds on a quiet machine, 265 s where ten others compute on two cores. */
const LIMIT = 900_000;

const lock = readFileSync(`${folder}package-lock.json`, 'utf8');
const installed = `${folder}node_modules/.portcullis-lock`;

/** Whether the command succeeds; the console says why if it does not even end. */
function run(command: string, args: readonly string[], timeout?: number): boolean {
  const { status, signal, error } = spawnSync(command, args, { cwd: folder, stdio: 'inherit', timeout });
  const isLate = error !== undefined && 'code' in error && error.code === 'ETIMEDOUT';
  const line = [command, ...args].join(' ');
  if (isLate) console.error(`${line} did not end within ${Number(timeout) / 1000} s and was stopped.`);
  else if (error !== undefined) console.error(`${line} could not be started: ${error.message}`);
  else if (signal !== null) console.error(`${line} was ended by ${signal}.`);
  return status === 0;
}

/**
 * Whether the tools of the lock file are there. `overrides` names a version of rollup whose packages for other platforms every
 * registry has, because `npm ci` refuses a lock file that lacks them.
 */
function install(): boolean {
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return true;
  if (!run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], LIMIT)) return false;
  writeFileSync(installed, lock);
  return true;
}

async function hasRegistry(): Promise<boolean> {
  const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  const url = new URL('vitepress', stdout.trim());
  return fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(10_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

if (install()) {
  const serves = process.argv.includes('--dev');
  const passed = run(process.execPath, ['build.ts', ...process.argv.slice(2)], serves ? undefined : LIMIT);
  console.log(passed ? '1 passed, 0 failed' : '0 passed, 1 failed');
  process.exitCode = passed ? 0 : 1;
} else if (await hasRegistry()) {
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
} else {
  console.log('Skipped: the npm registry does not respond, so the tools of the site cannot be installed.');
  console.log('0 passed, 0 failed');
}
