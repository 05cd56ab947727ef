/** The removal of an account, as one fact: all that was kept for its owner goes, and all that it allowed ends. */
import type { Steps } from './database.ts';
import { endAll } from './grants.ts';
import { sql } from './sql.ts';

/**
 * Sessions, links, passkeys, second factors and whoever it is at a third party go with the row (`ON DELETE CASCADE`). Ended
 * grants and bonds are swept later: until then tokens of them are known for what they are, and are revoked there too. A
 * request that is open lapses within minutes: nobody can go on with it.
 */
export function* removeAccount(id: string, at: number): Steps<boolean> {
  const removed = yield sql`DELETE FROM accounts WHERE id = ${id} RETURNING 1 AS one`;
  if (removed.length === 0) return false;
  yield* endAll(id, at);
  // Also those whose grant has not begun yet.
  yield sql`UPDATE bonds SET ended_at = ${at}, end_reason = 'revoked_here', due_at = ${at}
    WHERE account_id = ${id} AND ended_at IS NULL`;
  return true;
}
