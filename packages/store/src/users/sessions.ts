/** Browser sessions. */
import type { AccountRecord, SessionRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readList } from '../json.ts';
import { sql } from '../sql.ts';

interface SessionRow {
  readonly hash: string;
  readonly account_id: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly address: string | null;
  readonly browser: string | null;
  /** JSON. */
  readonly methods: string | null;
  readonly authenticated_at: number | null;
}

/** A session with its enabled account. */
interface OwnerRow extends SessionRow {
  readonly email: string;
  readonly email_key: string;
  readonly password_hash: string;
  readonly account_created_at: number;
}

export type SessionOperations = Pick<
  UserStore,
  'saveSession' | 'findSession' | 'listSessions' | 'endSession' | 'endSessions'
>;

export function createSessionOperations(database: Database): SessionOperations {
  return {
    async saveSession({ hash, accountId, createdAt, expiresAt, address, browser, methods, authenticatedAt }) {
      await database.write(
        sql`INSERT INTO sessions (hash, account_id, created_at, expires_at, address, browser, methods, authenticated_at)
          VALUES (${hash}, ${accountId}, ${createdAt}, ${expiresAt}, ${address}, ${browser}, ${methods === undefined ? null : JSON.stringify(methods)}, ${authenticatedAt ?? null})`,
        ['accounts', accountId],
      );
    },
    async findSession(hash, now) {
      const [row] = await database.read<OwnerRow>(
        sql`SELECT s.hash, s.account_id, s.created_at, s.expires_at, s.address, s.browser, s.methods, s.authenticated_at,
            a.email, a.email_key, a.password_hash, a.created_at AS account_created_at
          FROM sessions s JOIN accounts a ON a.id = s.account_id
          WHERE s.hash = ${hash} AND s.expires_at > ${now} AND a.disabled_at IS NULL`,
      );
      return row === undefined ? null : { session: readSession(row), account: readOwner(row) };
    },
    async listSessions(accountId, now) {
      const rows = await database.read<SessionRow>(
        sql`SELECT hash, account_id, created_at, expires_at, address, browser, methods, authenticated_at FROM sessions
          WHERE account_id = ${accountId} AND expires_at > ${now} ORDER BY created_at DESC, hash`,
      );
      return rows.map(readSession);
    },
    async endSession(hash) {
      await database.write(sql`DELETE FROM sessions WHERE hash = ${hash}`);
    },
    async endSessions(accountId, except) {
      const ended = await database.write(
        sql`DELETE FROM sessions WHERE account_id = ${accountId} AND hash <> ${except ?? ''} RETURNING 1 AS one`,
      );
      return ended.length;
    },
  };
}

function readOwner(row: OwnerRow): AccountRecord {
  return {
    id: row.account_id,
    email: row.email,
    emailKey: row.email_key,
    passwordHash: row.password_hash,
    createdAt: row.account_created_at,
    disabledAt: null,
  };
}

function readSession(row: SessionRow): SessionRecord {
  return {
    hash: row.hash,
    accountId: row.account_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    address: row.address,
    browser: row.browser,
    ...(row.methods !== null && { methods: readList(row.methods) }),
    ...(row.authenticated_at !== null && { authenticatedAt: row.authenticated_at }),
  };
}
