/** Which SQLite errors are outages: the database is unavailable, and the statement is valid. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';

/** @see https://sqlite.org/rescode.html */
const BUSY = 5;
const LOCKED = 6;
const OUTAGES: ReadonlySet<number> = new Set([
  BUSY,
  LOCKED,
  7, // NOMEM
  8, // READONLY
  9, // INTERRUPT
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  14, // CANTOPEN
  15, // PROTOCOL: the WAL's locks
  26, // NOTADB
]);

/** SQLite's primary result code; `null` when the error is not SQLite's. */
export function sqliteResultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null;
  return error.errcode & 0xff;
}

/** Whether another connection holds the lock: a retry in a moment may succeed. */
export function isSqliteBusy(error: unknown): boolean {
  const code = sqliteResultCode(error);
  return code === BUSY || code === LOCKED;
}

/** Maps an error to `temporarily_unavailable` if it is an outage. */
export function asSqliteOutage(error: unknown): unknown {
  if (error instanceof OAuthError) return error;
  const code = sqliteResultCode(error);
  const closed = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
  if (!closed && (code === null || !OUTAGES.has(code))) return error;
  return temporarilyUnavailable(`SQLite: ${(error as Error).message} (${code ?? 'closed'})`, 5, error);
}
