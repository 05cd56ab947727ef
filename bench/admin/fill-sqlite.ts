/** Fills an empty SQLite store with grants, users, clients and events, as `fill-postgres.ts` does with PostgreSQL. */
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@portcullis/store';
import type { Size } from '../authorization/fill-postgres.ts';

/** Days of events, all within their retention of 90 days. */
const DAYS = 88;
const DAY = 86_400_000;
const EVENTS_EACH = 5;
const RETENTION = 7_776_000;
/** Rows of one transaction. */
const BATCH = 100_000;

const NUMBERS =
  'WITH RECURSIVE n (g) AS (SELECT CAST(:first AS INTEGER) UNION ALL SELECT g + 1 FROM n WHERE g + 1 < :end)';
const SCOPES = '"scopes":["notes:read","notes:write"],"network":"127.0.0.1"';

/** @param path of a file that does not exist */
export async function fillSqlite(
  path: string,
  { grants, users, events }: Size,
  resource: string,
): Promise<void> {
  await (await openStore(path)).close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000');
  database.function('sortable', { deterministic: true }, (at) => Number(at).toString(36).padStart(9, '0'));
  const now = Math.floor(Date.now() / 1000);
  const clients = users * 2;
  const fill = (rows: number, statement: string) => {
    const insert = database.prepare(statement);
    for (let first = 0; first < rows; first += BATCH) {
      database.exec('BEGIN');
      insert.run({ first, end: Math.min(first + BATCH, rows) });
      database.exec('COMMIT');
    }
  };
  fill(
    users,
    `${NUMBERS} INSERT INTO accounts (id, email, email_key, password_hash, created_at)
      SELECT 'user_' || g, 'an.owner.' || g || '@example.com', 'an.owner.' || g || '@example.com', '$argon2id$', ${now} - 26000000 FROM n`,
  );
  fill(
    clients,
    `${NUMBERS} INSERT INTO clients (id, origin, metadata, created_at, last_used_at, expires_at)
      SELECT 'client_' || g, 'registered', '{"client_name":"My MCP client","redirect_uris":["http://127.0.0.1/callback"]}', ${now} - 26000000, ${now}, ${now} + 7776000 FROM n`,
  );
  fill(
    grants,
    `${NUMBERS} INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, last_used_at, last_used_from, consent_digest,
        refresh_token_hash, refresh_token_generation, refresh_token_seed, refresh_token_issued_at, refresh_token_expires_at, refresh_token_rotations)
      SELECT 'grant_' || g, 'client_' || g % ${clients}, 'user_' || g % ${users}, '["notes:read"]', '["${resource}"]', ${now} - 25920000 + g * 25,
        ${now} + 8000000, ${now} - g % 2000000, '127.0.0.1', 'digest', hex(randomblob(16)), 0, 'seed', ${now}, ${now} + 2592000, '' FROM n`,
  );
  const each = Math.max(1, Math.floor((DAYS * DAY * EVENTS_EACH) / events));
  const first = Math.floor(Date.now() / DAY) * DAY - DAYS * DAY;
  fill(
    events,
    `${NUMBERS} INSERT INTO audit_events (id, at, type, client_id, account_id, grant_id, resource, transaction_id, details, expires_at)
      SELECT sortable(at) || '-' || printf('%07d', g) || '-${randomBytes(3).toString('hex')}', at,
        CASE g % 5 WHEN 0 THEN 'authorization.started' WHEN 1 THEN 'consent.allowed' WHEN 2 THEN 'authorization_code.issued' WHEN 3 THEN 'token.issued' ELSE 'call.finished' END,
        'client_' || f % ${clients}, CASE WHEN g % 5 > 0 THEN 'user_' || f % ${users} END, CASE WHEN g % 5 > 0 THEN 'grant_' || f % ${grants} END,
        CASE WHEN g % 5 IN (0, 3, 4) THEN '${resource}' END, CASE WHEN g % 5 < 4 THEN 'flow_' || f END,
        CASE WHEN g % 5 < 4 THEN '{${SCOPES}}' ELSE '{"method":"tools/call","server":"/files","tool":"read_file","decision":"allowed","outcome":"answered","status":200,"duration":' || (12 + f % 90) || '.5,"backendDuration":' || (9 + f % 70) || '.25}' END,
        at / 1000 + ${RETENTION}
      FROM (SELECT g, f, ${first} + f * ${each} AS at FROM (SELECT g, g / 5 AS f FROM n))`,
  );
  database.exec('ANALYZE');
  database.close();
}
