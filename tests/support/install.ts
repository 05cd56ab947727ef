/** Packages that only one exhaustive test needs: installed on demand, in the exact versions of a package.json beside that test. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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
 * Installs what the package.json of a test folder names, as its .npmrc says, unless exactly that is installed. Test files of one
 * folder wait for each other.
 * @param folder the name of a cache folder is its last segment
 */
export async function installPackages(folder: string): Promise<Installation> {
  const cwd = join(CACHE, basename(folder));
  return exclusively(`${cwd}.lock`, () => install(folder, cwd));
}

/** Milliseconds between attempts. */
const PACE = 200;

/** Runs an action while no other process runs one with the same lock: a transaction of an empty database, which ends with its process. */
export async function exclusively<Result>(lock: string, act: () => Promise<Result>): Promise<Result> {
  await mkdir(dirname(lock), { recursive: true });
  const database = new DatabaseSync(`${lock}.db`, { timeout: 0 });
  try {
    while (!begins(database)) await setTimeout(PACE);
    return await act();
  } finally {
    database.close();
  }
}

const SQLITE_BUSY = 5;

function begins(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}

async function install(folder: string, cwd: string): Promise<Installation> {
  const modules = join(cwd, 'node_modules');
  const marker = join(modules, '.installed.json');
  const settings = await readFile(join(folder, '.npmrc'), 'utf8').catch(() => '');
  const wanted = (await readFile(join(folder, 'package.json'), 'utf8')) + settings;
  const installed = await readFile(marker, 'utf8').catch(() => undefined);
  if (installed === wanted) return { modules, missing: undefined };
  await mkdir(cwd, { recursive: true });
  await cp(join(folder, 'package.json'), join(cwd, 'package.json'));
  // What `overrides` replace by `file:none` is left out.
  await mkdir(join(cwd, 'none'), { recursive: true });
  await writeFile(join(cwd, 'none/package.json'), '{ "name": "none", "version": "0.0.0" }');
  await writeFile(join(cwd, '.npmrc'), settings);
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
