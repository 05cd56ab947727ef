/** Folders that only this user can read, and paths without symbolic links. */
import { realpathSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../errors.ts';

/**
 * Creates a folder and its parents with mode 0700; an existing one is left unchanged.
 * @NOTE Without `recursive`: with it, Node loops forever where the system always returns ENOENT, as below /proc.
 * @throws the system's error
 */
export async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT' || (await exists(dirname(path)))) throw error;
    await createFolder(dirname(path));
    await createFolder(path);
  }
}

const WRITABLE_BY_OTHERS = 0o002;
const STICKY = 0o1000;

/**
 * Creates a folder, and rejects one in which every user can replace other users' files. A sticky folder (`/tmp`) prevents
 * that, and each file's mode controls who can read it. Windows has no such modes.
 * @throws Error
 */
export async function createOwnFolder(path: string): Promise<void> {
  await createFolder(path);
  if (process.platform === 'win32') return;
  const { mode } = await stat(path);
  if ((mode & WRITABLE_BY_OTHERS) === 0 || (mode & STICKY) !== 0) return;
  throw new Error(`every user of this computer can replace files in ${path}: chmod 700 it`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Resolves symbolic links; for a missing file, those of its folder. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
