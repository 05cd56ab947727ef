/** Which errors of PostgreSQL and its driver mean that it cannot answer now, though nothing is wrong with what it was asked. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';

/** Classes of SQLSTATE that accuse the statement: wrong values, broken constraints, unknown names. @see PostgreSQL, appendix A */
const STATEMENT_AT_ISSUE: ReadonlySet<string> = new Set(['0A', '21', '22', '23', '42']);
/** A transaction met another one: serialization_failure, deadlock_detected. */
const COLLISIONS: ReadonlySet<string> = new Set(['40001', '40P01']);
/** The connection was cut: by an administrator, by a crash, by the network. */
const CUTS: ReadonlySet<string> = new Set(['57P01', '57P02', 'ECONNRESET', 'EPIPE']);

/** SQLSTATE, or the code of a system error; empty when the driver gave none. */
function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the same statement may well succeed at once. */
export function isCollision(error: unknown): boolean {
  return COLLISIONS.has(errorCode(error));
}

/** Whether a fresh connection may well answer. What the lost one was asked may have happened. */
export function isCut(error: unknown): boolean {
  if (CUTS.has(errorCode(error))) return true;
  return error instanceof Error && /connection (terminated|error)/iu.test(error.message);
}

/** The same error, or the outage that it tells of. */
export function toldOutage(error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof OAuthError || error instanceof TypeError || !(error instanceof Error)) return error;
  if (/^[0-9A-Z]{5}$/u.test(code) && STATEMENT_AT_ISSUE.has(code.slice(0, 2))) return error;
  return temporarilyUnavailable(`PostgreSQL: ${error.message} (${code === '' ? 'no code' : code})`, 5, error);
}
