/** Accounts, browser sessions and setup links as facts of a database. */
import type { AccountRecord, AccountStore, SessionRecord } from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { sql } from './sql.ts';

interface AccountRow {
  readonly id: string;
  readonly email: string;
  readonly email_key: string;
  readonly password_hash: string;
  readonly created_at: number;
  readonly disabled_at: number | null;
}

interface SessionRow {
  readonly hash: string;
  readonly account_id: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly address: string | null;
  readonly browser: string | null;
}

export function createAccountStore(database: Database): AccountStore {
  return {
    async hasAccounts() {
      return (await database.read(sql`SELECT 1 AS one FROM accounts LIMIT 1`)).length > 0;
    },
    async findAccount(id) {
      return readAccount(
        await database.read<AccountRow>(
          sql`SELECT id, email, email_key, password_hash, created_at, disabled_at FROM accounts WHERE id = ${id}`,
        ),
      );
    },
    async findAccountByEmail(emailKey) {
      return readAccount(
        await database.read<AccountRow>(
          sql`SELECT id, email, email_key, password_hash, created_at, disabled_at FROM accounts WHERE email_key = ${emailKey}`,
        ),
      );
    },
    async saveSetupLink(hash, createdAt) {
      await database.change(sql`INSERT INTO setup_links (hash, created_at) VALUES (${hash}, ${createdAt})`);
    },
    async isSetupLink(hash) {
      const found = await database.read(
        sql`SELECT 1 AS one FROM setup_links WHERE hash = ${hash} AND NOT EXISTS (SELECT 1 FROM accounts)`,
      );
      return found.length > 0;
    },
    createFirstAccount: (account, setupHash) =>
      database.fact({ steps: () => makeFirst(account, setupHash), postgres: { lock: 'accounts' } }),
    async replacePasswordHash(accountId, oldHash, newHash) {
      await database.change(
        sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${accountId} AND password_hash = ${oldHash}`,
      );
    },
    async saveSession({ hash, accountId, createdAt, expiresAt, address, browser }) {
      await database.change(
        sql`INSERT INTO sessions (hash, account_id, created_at, expires_at, address, browser)
          VALUES (${hash}, ${accountId}, ${createdAt}, ${expiresAt}, ${address}, ${browser})`,
      );
    },
    async findSession(hash, now) {
      const [row] = await database.read<SessionRow>(
        sql`SELECT s.hash, s.account_id, s.created_at, s.expires_at, s.address, s.browser
          FROM sessions s JOIN accounts a ON a.id = s.account_id
          WHERE s.hash = ${hash} AND s.expires_at > ${now} AND a.disabled_at IS NULL`,
      );
      return row === undefined ? null : readSession(row);
    },
    async listSessions(accountId, now) {
      const rows = await database.read<SessionRow>(
        sql`SELECT hash, account_id, created_at, expires_at, address, browser FROM sessions
          WHERE account_id = ${accountId} AND expires_at > ${now} ORDER BY created_at DESC, hash`,
      );
      return rows.map(readSession);
    },
    async endSession(hash) {
      await database.change(sql`DELETE FROM sessions WHERE hash = ${hash}`);
    },
    async endSessionsOf(accountId, except) {
      const ended = await database.change(
        sql`DELETE FROM sessions WHERE account_id = ${accountId} AND hash <> ${except ?? ''} RETURNING 1 AS one`,
      );
      return ended.length;
    },
  };
}

function* makeFirst(account: AccountRecord, setupHash: string | null): Steps<'created' | 'refused'> {
  const others = yield sql`SELECT 1 AS one FROM accounts LIMIT 1`;
  if (others.length > 0) return 'refused';
  if (setupHash !== null) {
    const links = yield sql`SELECT 1 AS one FROM setup_links WHERE hash = ${setupHash}`;
    if (links.length === 0) return 'refused';
  }
  yield sql`INSERT INTO accounts (id, email, email_key, password_hash, created_at, disabled_at)
    VALUES (${account.id}, ${account.email}, ${account.emailKey}, ${account.passwordHash}, ${account.createdAt},
      ${account.disabledAt})`;
  yield sql`DELETE FROM setup_links`;
  return 'created';
}

function readAccount([row]: readonly AccountRow[]): AccountRecord | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    email: row.email,
    emailKey: row.email_key,
    passwordHash: row.password_hash,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
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
  };
}
