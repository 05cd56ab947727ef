/** Changes of credentials by a signed-in user, only while the session exists. */
import type { Steps } from '../database.ts';
import { sql } from '../sql.ts';

/**
 * Runs the steps of a change, unless its session has ended: then `false`. Such an operation locks the table of accounts, as do those
 * that end a session with other credentials: they are complete, or wait and then end what this saves.
 */
export function* changeInSession(
  sessionHash: string,
  accountId: string,
  steps: () => Steps<boolean>,
): Steps<boolean> {
  const sessions =
    yield sql`SELECT 1 AS one FROM sessions WHERE hash = ${sessionHash} AND account_id = ${accountId}`;
  return sessions.length > 0 && (yield* steps());
}
