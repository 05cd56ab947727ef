/** Whether the SQLite file is still the one that was opened, and whether it can be read from the disk and be written. */
import { accessSync, constants, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { temporarilyUnavailable } from '@portcullis/protocol';

export interface FileCheck {
  /** Two `stat` calls. @throws OAuthError `temporarily_unavailable` when the file or its log was removed or replaced */
  checkIdentity(): void;
  /** Like `checkIdentity`, but only after a failure, until the file is back. */
  checkIfLost(): void;
  /** Reads a row of every table from the disk, without the cache of the open connection. @throws OAuthError, or SQLite's error */
  checkContent(): void;
}

const NO_FILE: FileCheck = { checkIdentity() {}, checkIfLost() {}, checkContent() {} };

/**
 * An open file that was removed or replaced still accepts writes, which are lost with this process.
 * @param location absolute path; `null`: in memory
 */
export function createFileCheck(location: string | null): FileCheck {
  if (location === null) return NO_FILE;
  const known = new Map<string, string>();
  let isLost = false;

  function isReplaced(path: string, mayBeMissing: boolean): boolean {
    const found = identityOf(path);
    const before = known.get(path);
    if (before === undefined && found !== null) known.set(path, found);
    return before === undefined ? found === null && !mayBeMissing : found !== before;
  }

  function checkIdentity(): void {
    // SQLite creates the write-ahead log with the first access, and removes it when the last connection closes.
    const replaced = [isReplaced(location as string, false), isReplaced(`${location}-wal`, true)];
    isLost = replaced.includes(true);
    if (!isLost) return;
    throw temporarilyUnavailable(
      `SQLite: ${location} was removed or replaced while this server uses it: put it back, or restart the server`,
      5,
    );
  }

  checkIdentity();
  return {
    checkIdentity,
    checkIfLost() {
      if (isLost) checkIdentity();
    },
    checkContent() {
      checkIdentity();
      accessSync(location, constants.W_OK);
      readEveryTable(location);
    },
  };
}

function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** Through SQLite: a file descriptor of our own would release the locks of this process when it is closed. */
function readEveryTable(location: string): void {
  const connection = new DatabaseSync(location, { readOnly: true });
  try {
    const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables) connection.prepare(`SELECT * FROM "${String(name)}" LIMIT 1`).get();
  } finally {
    connection.close();
  }
}
