/** Access of other users of this computer to the files of a SQLite database: password hashes, seeds of tokens, encrypted keys. */
import { chmod, stat } from 'node:fs/promises';
import { StoreError } from '../database.ts';

const OTHERS = 0o007;
const WRITABLE_BY_OTHERS = 0o002;

/**
 * Rejects a file that is writable by every user. Windows has no such modes.
 * @throws StoreError
 */
export function checkFileWriters(location: string, mode: number): void {
  if (process.platform === 'win32' || (mode & WRITABLE_BY_OTHERS) === 0) return;
  throw new StoreError(
    `Every user of this computer can write the SQLite file ${location}. Check its content, then chmod 600 it.`,
  );
}

/**
 * Restricts an existing world-readable database to its owner, with its WAL and shared-memory
 * files, and logs a warning: restored backups are often readable. Group access remains: an operator has granted it.
 * @throws StoreError if the mode cannot be changed
 */
export async function restrictToOwner(location: string): Promise<void> {
  if (process.platform === 'win32') return;
  const changed: string[] = [];
  for (const path of [location, `${location}-wal`, `${location}-shm`]) {
    const mode = await modeOf(path);
    if (mode === null || (mode & OTHERS) === 0) continue;
    await chmod(path, 0o600).catch(() => {});
    if ((((await modeOf(path)) ?? 0) & OTHERS) !== 0) {
      throw new StoreError(`Every user of this computer can read the SQLite file ${path}: chmod 600 it.`);
    }
    changed.push(path);
  }
  if (changed.length === 0) return;
  process.emitWarning(
    `Every user of this computer could read ${changed.join(', ')}. This access was removed; a copy that was made before can still be used against the passwords in it.`,
    { code: 'PORTCULLIS_FILE_MODE' },
  );
}

async function modeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => null,
  );
}
