/** What nobody can use any more is deleted in small steps that never hold a lock for long. */
import type { Database } from './database.ts';
import { type Query, sql } from './sql.ts';

/** For so long after its expiry a code is kept, so that a second use is still seen for what it is. Seconds. */
const CODE_KEPT = 600;
/** For so long after its expiry the revocation of an access token is kept: clocks of guards may be slow. Seconds. */
const REVOCATION_KEPT = 600;
/** For so long after its end a grant is kept: access tokens of its last moment still ask for it. Seconds. */
const GRANT_KEPT = 86_400;
/** A client that was never used is kept for so long after its end: who began to sign in before that shall end it. Seconds. */
const UNUSED_CLIENT_KEPT = 3600;
/** A client whose time is over while it holds a live grant is looked at again after so long. Seconds. */
const CLIENT_RESPITE = 30 * 86_400;

/** Deletes at most `limit` rows of each kind; answers how many. */
export async function sweep(database: Database, now: number, limit: number): Promise<number> {
  let swept = 0;
  for (const query of respites(now, limit)) await database.change(query);
  for (const query of deletions(now, limit)) swept += (await database.change(query)).length;
  return swept;
}

function deletions(now: number, limit: number): readonly Query[] {
  return [
    sql`DELETE FROM transactions WHERE id IN
      (SELECT id FROM transactions WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM sessions WHERE hash IN
      (SELECT hash FROM sessions WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM account_links WHERE hash IN
      (SELECT hash FROM account_links WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM codes WHERE hash IN
      (SELECT hash FROM codes WHERE expires_at <= ${now - CODE_KEPT} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM revoked_access_tokens WHERE id IN
      (SELECT id FROM revoked_access_tokens WHERE expires_at <= ${now - REVOCATION_KEPT} ORDER BY expires_at LIMIT ${limit})
      RETURNING 1 AS one`,
    sql`DELETE FROM former_refresh_tokens WHERE hash IN
      (SELECT hash FROM former_refresh_tokens WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM grants WHERE id IN
      (SELECT id FROM grants WHERE expires_at <= ${now - GRANT_KEPT} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM grants WHERE id IN
      (SELECT id FROM grants WHERE revoked_at <= ${now - GRANT_KEPT} ORDER BY revoked_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM departures WHERE state_hash IN
      (SELECT state_hash FROM departures WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM bonds WHERE grant_id IN
      (SELECT grant_id FROM bonds WHERE ended_at <= ${now - GRANT_KEPT} ORDER BY ended_at LIMIT ${limit})
      AND sealed_tokens IS NULL RETURNING 1 AS one`,
    sql`DELETE FROM lent_places WHERE place IN
      (SELECT place FROM lent_places WHERE kind = 'client' AND expires_at <= ${now} ORDER BY expires_at LIMIT ${limit})
      RETURNING 1 AS one`,
    sql`DELETE FROM lent_places WHERE place IN
      (SELECT place FROM lent_places WHERE kind = 'grant' AND expires_at <= ${now} ORDER BY expires_at LIMIT ${limit})
      RETURNING 1 AS one`,
    sql`DELETE FROM spent_assertions WHERE hash IN
      (SELECT hash FROM spent_assertions WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM client_invitations WHERE id IN
      (SELECT id FROM client_invitations WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM events WHERE id IN
      (SELECT id FROM events WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM turns WHERE key IN
      (SELECT key FROM turns WHERE due_at <= ${now} ORDER BY due_at LIMIT ${limit}) RETURNING 1 AS one`,
    sql`DELETE FROM clients WHERE id IN
      (SELECT id FROM clients WHERE last_used_at IS NULL AND expires_at <= ${now - UNUSED_CLIENT_KEPT}
        ORDER BY expires_at LIMIT ${limit})
      AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client_id = clients.id AND g.revoked_at IS NULL AND g.expires_at > ${now})
      RETURNING 1 AS one`,
    sql`DELETE FROM clients WHERE id IN
      (SELECT id FROM clients WHERE last_used_at IS NOT NULL AND expires_at <= ${now} ORDER BY expires_at LIMIT ${limit})
      AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client_id = clients.id AND g.revoked_at IS NULL AND g.expires_at > ${now})
      RETURNING 1 AS one`,
    sql`DELETE FROM client_documents WHERE url IN
      (SELECT url FROM client_documents WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit})
      AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client_id = client_documents.url AND g.revoked_at IS NULL AND g.expires_at > ${now})
      RETURNING 1 AS one`,
  ];
}

/**
 * A client with a live grant is never swept. Its time is moved on instead, so that such clients do not stand at the head of
 * the index for ever, to be looked at by each sweep.
 */
function respites(now: number, limit: number): readonly Query[] {
  const later = now + CLIENT_RESPITE;
  return [
    sql`UPDATE clients SET expires_at = ${later} WHERE id IN
      (SELECT id FROM clients WHERE last_used_at IS NULL AND expires_at <= ${now - UNUSED_CLIENT_KEPT}
        ORDER BY expires_at LIMIT ${limit})
      AND EXISTS (SELECT 1 FROM grants g WHERE g.client_id = clients.id AND g.revoked_at IS NULL AND g.expires_at > ${now})`,
    sql`UPDATE clients SET expires_at = ${later} WHERE id IN
      (SELECT id FROM clients WHERE last_used_at IS NOT NULL AND expires_at <= ${now} ORDER BY expires_at LIMIT ${limit})
      AND EXISTS (SELECT 1 FROM grants g WHERE g.client_id = clients.id AND g.revoked_at IS NULL AND g.expires_at > ${now})`,
    sql`UPDATE client_documents SET expires_at = ${later} WHERE url IN
      (SELECT url FROM client_documents WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit})
      AND EXISTS (SELECT 1 FROM grants g WHERE g.client_id = client_documents.url AND g.revoked_at IS NULL AND g.expires_at > ${now})`,
  ];
}
