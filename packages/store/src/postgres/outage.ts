/** Which PostgreSQL errors are outages, conflicts or lost connections, by SQLSTATE. @see PostgreSQL, appendix A */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';

/** SQLSTATE classes that mean the statement is wrong: invalid values, violated constraints, unknown names. */
const STATEMENT_ERRORS: ReadonlySet<string> = new Set(['0A', '21', '22', '23', '42']);
/** A conflict with another transaction: serialization_failure, deadlock_detected. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01']);
/** The connection was lost: to an administrator, a crash, the network. */
const LOST_CONNECTION: ReadonlySet<string> = new Set(['57P01', '57P02', 'ECONNRESET', 'EPIPE']);

/** A statement is unknown at this server connection, or another client has prepared it. */
const POOLER_ERRORS: ReadonlySet<string> = new Set(['26000', '42P05']);

/** SQLSTATE, or the code of a system error; empty when the driver gave none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the same statement may succeed when retried at once. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(errorCode(error));
}

/** Whether a pooler sent the statement to a connection that has not prepared it. It was not executed. */
export function isPreparedElsewhere(error: unknown): boolean {
  return POOLER_ERRORS.has(errorCode(error));
}

/** Whether a new connection may succeed. The lost statement may have been executed. */
export function isConnectionLost(error: unknown): boolean {
  if (LOST_CONNECTION.has(errorCode(error))) return true;
  return error instanceof Error && /connection (terminated|error)/iu.test(error.message);
}

/** Maps an error to `temporarily_unavailable` if it is an outage. */
export function asPostgresOutage(error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof OAuthError || error instanceof TypeError || !(error instanceof Error)) return error;
  if (/^[0-9A-Z]{5}$/u.test(code) && STATEMENT_ERRORS.has(code.slice(0, 2))) return error;
  return temporarilyUnavailable(`PostgreSQL: ${error.message} (${code === '' ? 'no code' : code})`, 5, error);
}
