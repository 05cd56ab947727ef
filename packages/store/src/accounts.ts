/** Accounts, browser sessions and setup links as facts of a database. */
import type {
  AccountLinkRecord,
  AccountRecord,
  AccountStore,
  SessionRecord,
} from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { endAll } from './grants.ts';
import { insertPasskey } from './passkeys.ts';
import { removeAccount } from './removal.ts';
import { forgetSecondFactor } from './second-factors.ts';
import { type Query, sql } from './sql.ts';

interface AccountRow {
  readonly id: string;
  readonly email: string;
  readonly email_key: string;
  readonly password_hash: string;
  readonly created_at: number;
  readonly disabled_at: number | null;
}

interface AccountLinkRow {
  readonly hash: string;
  readonly account_id: string;
  readonly purpose: AccountLinkRecord['purpose'];
  readonly created_at: number;
  readonly expires_at: number;
}

interface SessionRow {
  readonly hash: string;
  readonly account_id: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly address: string | null;
  readonly browser: string | null;
}

/** The account of a session, which is not disabled. */
interface OwnerRow extends Pick<AccountRow, 'email' | 'email_key' | 'password_hash'> {
  readonly account_created_at: number;
}

export function createAccountStore(database: Database): AccountStore {
  return {
    async hasAccounts() {
      return (await database.read(ownAccounts())).length > 0;
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
        sql`SELECT 1 AS one FROM setup_links WHERE hash = ${hash} AND NOT EXISTS (SELECT 1 FROM accounts
          WHERE NOT EXISTS (SELECT 1 FROM persons WHERE persons.account_id = accounts.id))`,
      );
      return found.length > 0;
    },
    createFirstAccount: (account, setupHash) =>
      database.fact({ steps: () => makeFirst(account, setupHash), postgres: { lock: 'accounts' } }),
    addAccount: (account, invitation) =>
      database.fact({ steps: () => add(account, invitation), postgres: { lock: 'accounts' } }),
    async listAccounts(after, limit) {
      const rows = await database.read<AccountRow>(
        sql`SELECT id, email, email_key, password_hash, created_at, disabled_at FROM accounts WHERE email_key > ${after}
          ORDER BY email_key LIMIT ${limit}`,
      );
      return rows.flatMap((row) => readAccount([row]) ?? []);
    },
    disableAccount: (id, at) =>
      database.fact({ steps: () => disable(id, at), postgres: { lock: 'accounts' } }),
    async enableAccount(id) {
      const enabled = await database.change(
        sql`UPDATE accounts SET disabled_at = NULL WHERE id = ${id} RETURNING 1 AS one`,
      );
      return enabled.length > 0;
    },
    removeAccount: (id, at) =>
      database.fact({ steps: () => removeAccount(id, at), postgres: { lock: 'accounts' } }),
    saveAccountLink: (link) =>
      database.fact({ steps: () => replaceLink(link), postgres: { lock: 'accounts' } }),
    async findAccountLink(hash, now) {
      const [row] = await database.read<AccountLinkRow>(
        sql`SELECT l.hash, l.account_id, l.purpose, l.created_at, l.expires_at
          FROM account_links l JOIN accounts a ON a.id = l.account_id
          WHERE l.hash = ${hash} AND l.expires_at > ${now} AND a.disabled_at IS NULL`,
      );
      return row === undefined ? null : readLink(row);
    },
    useAccountLink: (hash, chosen, at) =>
      database.fact({ steps: () => useLink(hash, chosen, at), postgres: { lock: 'accounts' } }),
    async replacePasswordHash(accountId, oldHash, newHash) {
      await database.change(
        sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${accountId} AND password_hash = ${oldHash}`,
      );
    },
    changePassword: (accountId, oldHash, newHash, kept) =>
      database.fact({
        steps: () => changePassword(accountId, oldHash, newHash, kept),
        postgres: { lock: 'accounts' },
      }),
    async saveSession({ hash, accountId, createdAt, expiresAt, address, browser }) {
      await database.change(
        sql`INSERT INTO sessions (hash, account_id, created_at, expires_at, address, browser)
          VALUES (${hash}, ${accountId}, ${createdAt}, ${expiresAt}, ${address}, ${browser})`,
      );
    },
    async findSession(hash, now) {
      const [row] = await database.read<SessionRow & OwnerRow>(
        sql`SELECT s.hash, s.account_id, s.created_at, s.expires_at, s.address, s.browser,
            a.email, a.email_key, a.password_hash, a.created_at AS account_created_at
          FROM sessions s JOIN accounts a ON a.id = s.account_id
          WHERE s.hash = ${hash} AND s.expires_at > ${now} AND a.disabled_at IS NULL`,
      );
      return row === undefined ? null : { session: readSession(row), account: readOwner(row) };
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
  const others = yield ownAccounts();
  if (others.length > 0) return 'refused';
  if (setupHash !== null) {
    const links = yield sql`SELECT 1 AS one FROM setup_links WHERE hash = ${setupHash}`;
    if (links.length === 0) return 'refused';
  }
  yield insertAccount(account);
  yield sql`DELETE FROM setup_links`;
  return 'created';
}

/** One is enough. People of third parties may come before anybody has an account of this server's own. */
function ownAccounts(): Query {
  return sql`SELECT 1 AS one FROM accounts
    WHERE NOT EXISTS (SELECT 1 FROM persons WHERE persons.account_id = accounts.id) LIMIT 1`;
}

function* add(account: AccountRecord, invitation: AccountLinkRecord): Steps<boolean> {
  const others = yield sql`SELECT 1 AS one FROM accounts WHERE email_key = ${account.emailKey}`;
  if (others.length > 0) return false;
  yield insertAccount(account);
  yield insertLink(invitation);
  return true;
}

/** Whoever redeems a code at this moment is waited for, or finds it spent: see `endAll`. */
function* disable(id: string, at: number): Steps<boolean> {
  const found = yield sql`SELECT 1 AS one FROM accounts WHERE id = ${id}`;
  yield sql`UPDATE accounts SET disabled_at = ${at} WHERE id = ${id} AND disabled_at IS NULL`;
  yield sql`DELETE FROM sessions WHERE account_id = ${id}`;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  yield* endAll(id, at);
  return found.length > 0;
}

function* replaceLink(link: AccountLinkRecord): Steps<void> {
  yield sql`DELETE FROM account_links WHERE account_id = ${link.accountId}`;
  yield insertLink(link);
}

function* useLink(
  hash: string,
  { passwordHash, passkey }: Parameters<AccountStore['useAccountLink']>[1],
  at: number,
): Steps<boolean> {
  // Point of no return: of all who come, one finds the link.
  const [used] =
    (yield sql`DELETE FROM account_links WHERE hash = ${hash} AND expires_at > ${at} RETURNING account_id`) as readonly Pick<
      AccountLinkRow,
      'account_id'
    >[];
  if (used === undefined) return false;
  const id = used.account_id;
  yield sql`UPDATE accounts SET password_hash = ${passwordHash} WHERE id = ${id}`;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  yield sql`DELETE FROM sessions WHERE account_id = ${id}`;
  yield sql`DELETE FROM passkeys WHERE account_id = ${id}`;
  yield* forgetSecondFactor(id);
  if (passkey !== null) yield insertPasskey(passkey);
  return true;
}

function* changePassword(id: string, oldHash: string, newHash: string, kept: string | null): Steps<boolean> {
  const changed =
    yield sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${id} AND password_hash = ${oldHash} RETURNING 1 AS one`;
  if (changed.length === 0) return false;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  if (kept !== null) yield sql`DELETE FROM sessions WHERE account_id = ${id} AND hash <> ${kept}`;
  return true;
}

function insertAccount(account: AccountRecord): Query {
  return sql`INSERT INTO accounts (id, email, email_key, password_hash, created_at, disabled_at)
    VALUES (${account.id}, ${account.email}, ${account.emailKey}, ${account.passwordHash}, ${account.createdAt},
      ${account.disabledAt})`;
}

function insertLink(link: AccountLinkRecord): Query {
  return sql`INSERT INTO account_links (hash, account_id, purpose, created_at, expires_at)
    VALUES (${link.hash}, ${link.accountId}, ${link.purpose}, ${link.createdAt}, ${link.expiresAt})`;
}

function readLink(row: AccountLinkRow): AccountLinkRecord {
  return {
    hash: row.hash,
    accountId: row.account_id,
    purpose: row.purpose,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
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

function readOwner(row: SessionRow & OwnerRow): AccountRecord {
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
  };
}
