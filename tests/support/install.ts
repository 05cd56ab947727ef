/** Packages that only one exhaustive test needs: installed on demand, in the exact versions of a package.json beside that test. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));

export interface Installation {
  /** Their `node_modules`. */
  readonly modules: string;
  /** Why they are missing: no registry, no space, no package for this platform. */
  readonly missing: string | undefined;
}

/**
 * Installs what the package.json of a test folder names, unless exactly that is installed. Test files of one folder wait for each other.
 * @param folder the name of a cache folder is its last segment
 */
export async function installPackages(folder: string): Promise<Installation> {
  const cwd = join(CACHE, basename(folder));
  return exclusively(`${cwd}.lock`, () => install(folder, cwd));
}

/** Runs an action while no other process runs one with the same lock file. */
export async function exclusively<Result>(lock: string, act: () => Promise<Result>): Promise<Result> {
  await mkdir(join(lock, '..'), { recursive: true });
  await acquire(lock);
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

/** Milliseconds between attempts. */
const PACE = 200;

/** A lock file with the id of the process that holds it; that of a process that ended is removed. */
async function acquire(lock: string): Promise<void> {
  const held = await writeFile(lock, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  );
  if (held) return;
  const holder = Number(await readFile(lock, 'utf8').catch(() => ''));
  if (holder > 0 && !isAlive(holder)) await rm(lock, { force: true });
  else await setTimeout(PACE);
  await acquire(lock);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function install(folder: string, cwd: string): Promise<Installation> {
  const modules = join(cwd, 'node_modules');
  const marker = join(modules, '.installed.json');
  const wanted = await readFile(join(folder, 'package.json'), 'utf8');
  const installed = await readFile(marker, 'utf8').catch(() => undefined);
  if (installed === wanted) return { modules, missing: undefined };
  await mkdir(cwd, { recursive: true });
  await cp(join(folder, 'package.json'), join(cwd, 'package.json'));
  // What `overrides` replace by `file:none` is left out.
  await mkdir(join(cwd, 'none'), { recursive: true });
  await writeFile(join(cwd, 'none/package.json'), '{ "name": "none", "version": "0.0.0" }');
  const settings = join(folder, '.npmrc');
  if (existsSync(settings)) await cp(settings, join(cwd, '.npmrc'));
  try {
    await promisify(execFile)('npm', INSTALL, { cwd, timeout: 300_000 });
  } catch (error) {
    return { modules, missing: `npm install failed for ${folder}: ${String(error)}` };
  }
  await writeFile(marker, wanted);
  return { modules, missing: undefined };
}

// Without a lock file, because not every registry holds the packages of every platform; what is known of exact versions stays true.
const INSTALL = [
  'install',
  '--no-package-lock',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--fetch-retries=1',
];
