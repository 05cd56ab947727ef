/** Files that belong to the user alone: no symbolic links, and no access for others whatever the umask is. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { ClientError } from '../errors.ts';

/**
 * Ensures that the file exists, is a regular file, and belongs to the user, in a folder where others cannot add files: SQLite
 * would apply a journal of theirs.
 * @throws ClientError `store_unusable`
 */
export function preparePrivateFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw storeUnusable(path, 'its folder cannot be created', cause);
  }
  checkFolder(path, statSync(dirname(path)));
  const file = open(path, constants.O_RDWR | constants.O_CREAT);
  try {
    checkOwn(path, fstatSync(file));
    // On the checked file, even if its path was replaced meanwhile (TOCTOU).
    fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}

/** Reads a private file; `null`: there is none. @throws ClientError `store_unusable` */
export function readPrivateFile(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    throw storeUnusable(path, 'it is a symbolic link or may not be opened', cause);
  }
  try {
    const facts = fstatSync(file);
    checkOwn(path, facts);
    if (process.platform !== 'win32' && (facts.mode & 0o077) !== 0)
      throw storeUnusable(path, 'other users can read it, so its content is no longer safe');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Creates a private file that does not exist yet. @throws ClientError `store_unusable` */
export function createPrivateFile(path: string, text: string): void {
  const file = open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

export function storeUnusable(path: string, why: string, cause?: unknown): ClientError {
  return new ClientError('store_unusable', `The credentials cannot be stored in ${path}: ${why}.`, { cause });
}

function open(path: string, flags: number): number {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW, 0o600);
  } catch (cause) {
    throw storeUnusable(path, 'it is a symbolic link or may not be opened', cause);
  }
}

/** A sticky bit does not help. The user's own group often has no other members, and write access by default. */
function checkFolder(path: string, { mode, uid, gid }: Stats): void {
  if (process.getuid === undefined) return;
  const isForeignGroup = gid !== process.getgid?.() && (mode & 0o020) !== 0;
  if (![0, process.getuid()].includes(uid) || isForeignGroup || (mode & 0o002) !== 0)
    throw storeUnusable(path, 'other users can write to its folder; use a folder of its own');
}

function checkOwn(path: string, facts: Stats): void {
  if (!facts.isFile()) throw storeUnusable(path, 'it is not a regular file');
  if (process.getuid !== undefined && facts.uid !== process.getuid())
    throw storeUnusable(path, 'it belongs to another user');
}
