/** What nobody can use any more is deleted in small steps that never hold a lock for long. */
import type { Database } from './database.ts';
import { type Query, sql } from './sql.ts';

/** For so long after its expiry a code is kept, so that a second use is still seen for what it is. Seconds. */
const CODE_KEPT = 600;
/** For so long after its expiry the revocation of an access token is kept: clocks of guards may be slow. Seconds. */
const REVOCATION_KEPT = 600;
/** For so long after its end a grant is kept: access tokens of its last moment still ask for it. Seconds. */
const GRANT_KEPT = 86_400;

/** Deletes at most `limit` rows of each kind; answers how many. */
export async function sweep(database: Database, now: number, limit: number): Promise<number> {
  let swept = 0;
  for (const query of steps(now, limit)) swept += (await database.change(query)).length;
  return swept;
}

/** Tokens of a grant that is gone already are nobody's; they leave as they expire. */
function steps(now: number, limit: number): readonly Query[] {
  return [
    sql`DELETE FROM transactions WHERE id IN
      (SELECT id FROM transactions WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM sessions WHERE hash IN
      (SELECT hash FROM sessions WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM codes WHERE hash IN
      (SELECT hash FROM codes WHERE expires_at <= ${now - CODE_KEPT} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM revoked_access_tokens WHERE id IN
      (SELECT id FROM revoked_access_tokens WHERE expires_at <= ${now - REVOCATION_KEPT} ORDER BY expires_at LIMIT ${limit})
      RETURNING 1 AS one`,
    sql`DELETE FROM refresh_tokens WHERE hash IN
      (SELECT hash FROM refresh_tokens WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM grants WHERE id IN
      (SELECT id FROM grants WHERE expires_at <= ${now - GRANT_KEPT} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM grants WHERE id IN
      (SELECT id FROM grants WHERE revoked_at <= ${now - GRANT_KEPT} ORDER BY revoked_at LIMIT ${limit}) RETURNING 1 AS one`,
  ];
}
