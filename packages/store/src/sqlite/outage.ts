/** Which errors of SQLite mean that it cannot answer now, though nothing is wrong with what it was asked. */
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
export function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null;
  return error.errcode & 0xff;
}

/** Whether another connection holds the lock: worth another try in a moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** The same error, or the outage that it tells of. */
export function toldOutage(error: unknown): unknown {
  if (error instanceof OAuthError) return error;
  const code = resultCode(error);
  const closed = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE';
  if (!closed && (code === null || !OUTAGES.has(code))) return error;
  return temporarilyUnavailable(`SQLite: ${(error as Error).message} (${code ?? 'closed'})`, 5, error);
}
