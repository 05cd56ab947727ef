/** Browser sessions. */
import type { AccountRecord, SessionRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readList } from '../json.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

interface SessionRow extends Omit<SessionRecord, 'methods' | 'authenticatedAt' | 'language'> {
  /** JSON. */
  readonly methods: string | null;
  readonly authenticatedAt: number | null;
  readonly language: string | null;
}

type OwnerRow = Pick<AccountRecord, 'email' | 'emailKey' | 'passwordHash' | 'role'>;

const columns = defineRecordColumns<SessionRow>(
  'hash accountId createdAt expiresAt address browser methods authenticatedAt language',
);
const ownerColumns = defineRecordColumns<OwnerRow>('email emailKey passwordHash role');
/** A session with its enabled account. */
const sessionWithOwner = defineQuery(
  `SELECT ${columns.select('s.')}, ${ownerColumns.select('a.')}, a.created_at AS owner_created_at
    FROM sessions s JOIN accounts a ON a.id = s.account_id
    WHERE s.hash = ? AND s.expires_at > ? AND a.disabled_at IS NULL`,
);
const sessionsOfAccount = defineQuery(
  `SELECT ${columns.select()} FROM sessions WHERE account_id = ? AND expires_at > ? ORDER BY created_at DESC, hash`,
);

export type SessionOperations = Pick<
  UserStore,
  'saveSession' | 'findSession' | 'listSessions' | 'endSession' | 'endSessions' | 'endProviderSessions'
>;

export function createSessionOperations(database: Database): SessionOperations {
  return {
    async saveSession(session) {
      const { hash, accountId, createdAt, expiresAt, address, browser } = session;
      const { methods, authenticatedAt, providerSession, language } = session;
      await database.write(
        sql`INSERT INTO sessions (hash, account_id, created_at, expires_at, address, browser, methods, authenticated_at, provider_session, language)
          VALUES (${hash}, ${accountId}, ${createdAt}, ${expiresAt}, ${address}, ${browser}, ${methods === undefined ? null : JSON.stringify(methods)}, ${authenticatedAt ?? null}, ${providerSession ?? null}, ${language ?? null})`,
        ['accounts', accountId],
      );
    },
    async findSession(hash, now) {
      const [row] = await database.read<{ readonly owner_created_at: number }>(sessionWithOwner(hash, now));
      if (row === undefined) return null;
      const session = readSession(row);
      const times = { createdAt: row.owner_created_at, disabledAt: null };
      return { session, account: { id: session.accountId, ...ownerColumns.read(row), ...times } };
    },
    async listSessions(accountId, now) {
      return (await database.read(sessionsOfAccount(accountId, now))).map(readSession);
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
    async endProviderSessions({ accountId, providerSession, before }) {
      const ended = await database.write<{ account_id: string }>(
        sql`DELETE FROM sessions WHERE created_at <= ${before} AND (provider_session = ${providerSession}
            OR (account_id = ${accountId} AND (${providerSession === null ? 1 : 0} = 1 OR provider_session IS NULL)))
          RETURNING account_id`,
      );
      return ended.map((row) => row.account_id);
    },
  };
}

function readSession(row: unknown): SessionRecord {
  const { methods, authenticatedAt, language, ...session } = columns.read(row);
  return {
    ...session,
    ...(methods !== null && { methods: readList(methods) }),
    ...(authenticatedAt !== null && { authenticatedAt }),
    ...(language !== null && { language }),
  };
}
