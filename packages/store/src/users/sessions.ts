/** Browser sessions. */
import type { AccountRecord, SessionRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, defineTemplate, sql } from '../sql.ts';

type OwnerRow = Pick<AccountRecord, 'email' | 'emailKey' | 'passwordHash' | 'role'>;

const MEMBERS = 'hash accountId createdAt expiresAt address browser methods?:list authenticatedAt? language?';
const columns = defineRecordColumns<SessionRecord>(MEMBERS);
const stored = defineRecordColumns<SessionRecord>(`${MEMBERS} providerSession?`);
/** The account is locked (`FOR SHARE`): a concurrent reset or disabling is either read, or waits and then deletes the session. */
const insertForOwner = defineTemplate(`INSERT INTO sessions (${stored.names}) SELECT ${stored.marks}
  FROM accounts WHERE id = ? AND password_hash = ? AND disabled_at IS NULL FOR SHARE RETURNING 1 AS one`);
const ownerColumns = defineRecordColumns<OwnerRow>('email emailKey passwordHash role');
/** A session with its enabled account. */
const sessionWithOwner = defineQuery(
  `SELECT ${columns.select('s.')}, ${ownerColumns.select('a.')}, a.created_at AS owner_created_at
    FROM sessions s JOIN accounts a ON a.id = s.account_id
    WHERE s.hash = ? AND s.expires_at > ? AND a.disabled_at IS NULL`,
);
/** The newest is given: others may have begun in the same second. Both databases require a limit with an offset. */
const endOldest =
  defineQuery(`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE account_id = ? AND hash <> ?
  ORDER BY created_at DESC, hash LIMIT 1000000000 OFFSET ?)`);
const sessionsOfAccount = defineQuery(
  `SELECT ${columns.select()} FROM sessions WHERE account_id = ? AND expires_at > ? ORDER BY created_at DESC, hash`,
);

export type SessionOperations = Pick<
  UserStore,
  'saveSession' | 'findSession' | 'listSessions' | 'endSession' | 'endSessions' | 'endProviderSessions'
>;

export function createSessionOperations(database: Database): SessionOperations {
  return {
    async saveSession(session, passwordHash, most) {
      const { accountId, hash } = session;
      const values = [...stored.values(session), accountId, passwordHash];
      const isSaved = await database.changes({ template: insertForOwner, values }, ['accounts', accountId]);
      if (isSaved && most !== undefined) await database.write(endOldest(accountId, hash, most - 1));
      return isSaved;
    },
    async findSession(hash, now) {
      const [row] = await database.read<{ readonly owner_created_at: number }>(sessionWithOwner(hash, now));
      if (row === undefined) return null;
      const session = columns.read(row);
      const times = { createdAt: row.owner_created_at, disabledAt: null };
      return { session, account: { id: session.accountId, ...ownerColumns.read(row), ...times } };
    },
    listSessions: (accountId, now) => columns.findAll(database, sessionsOfAccount(accountId, now)),
    endSession: (hash) => database.write(sql`DELETE FROM sessions WHERE hash = ${hash}`),
    async endSessions(accountId, except) {
      const ended = await database.writeRows(
        sql`DELETE FROM sessions WHERE account_id = ${accountId} AND hash <> ${except ?? ''} RETURNING 1 AS one`,
      );
      return ended.length;
    },
    async endProviderSessions({ accountId, providerSession, before, now }) {
      const ended = await database.writeRows<{ account_id: string }>(
        sql`DELETE FROM sessions WHERE (created_at <= ${before} OR created_at > ${now}) AND (provider_session = ${providerSession}
            OR (account_id = ${accountId} AND (${providerSession === null ? 1 : 0} = 1 OR provider_session IS NULL)))
          RETURNING account_id`,
      );
      return ended.map((row) => row.account_id);
    },
  };
}
