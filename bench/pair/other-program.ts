/** The program of another commit, or of another folder, beside this one. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newFolder } from '../authorization/portcullis.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface OtherProgram {
  /** The commit; of a folder its name. */
  readonly commit: string;
  readonly folder: string;
}

/**
 * Extracts a commit and installs what its lock file names; what is installed here serves where both lock files are equal.
 * @param name a commit, or a folder in which a program is installed
 */
export function extractProgram(name: string): OtherProgram {
  if (existsSync(join(name, 'package-lock.json'))) return { commit: name, folder: resolve(name) };
  const commit = git('rev-parse', '--short', '--verify', `${name}^{commit}`).trim();
  const folder = newFolder();
  const archive = join(folder, 'program.tar');
  git('archive', '--output', archive, commit, 'packages', 'examples', 'package.json', 'package-lock.json');
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  if (readLock(folder) === readLock(root)) shareModules(folder);
  else
    execFileSync(
      'npm',
      [
        'ci',
        '--omit=dev',
        '--ignore-scripts',
        '--prefer-offline',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
      ],
      {
        cwd: folder,
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
  return { commit, folder };
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8' });
}

function readLock(folder: string): string {
  return readFileSync(join(folder, 'package-lock.json'), 'utf8');
}

/** Links each installed package. The links of the workspace are made again, because they have to lead to the other program. */
function shareModules(folder: string): void {
  const workspaces = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/node_modules`);
  for (const modules of ['node_modules', ...workspaces])
    for (const entry of listEntries(join(root, modules))) {
      const target = entry.isSymbolicLink() ? readlinkSync(join(entry.parentPath, entry.name)) : null;
      const link = join(folder, relative(root, entry.parentPath), entry.name);
      mkdirSync(join(link, '..'), { recursive: true });
      symlinkSync(target ?? join(entry.parentPath, entry.name), link);
    }
}

/** Packages, those with a scope included. */
function listEntries(modules: string) {
  try {
    return readdirSync(modules, { withFileTypes: true }).flatMap((entry) =>
      entry.name.startsWith('@') ? readdirSync(join(modules, entry.name), { withFileTypes: true }) : [entry],
    );
  } catch {
    return [];
  }
}
