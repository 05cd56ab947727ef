/** One-time links with which users choose how to sign in. */
import type { AccountLinkRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { insertPasskey } from '../mfa/passkeys.ts';
import { deleteTotpFactor } from '../mfa/totp.ts';
import { type Query, sql } from '../sql.ts';

interface AccountLinkRow {
  readonly hash: string;
  readonly account_id: string;
  readonly purpose: AccountLinkRecord['purpose'];
  readonly created_at: number;
  readonly expires_at: number;
}

export type AccountLinkOperations = Pick<
  UserStore,
  'saveAccountLink' | 'findAccountLink' | 'redeemAccountLink'
>;

export function createAccountLinkOperations(database: Database): AccountLinkOperations {
  return {
    saveAccountLink: (link) =>
      database.transact({ steps: () => replaceLink(link), postgres: { lock: 'accounts' } }),
    async findAccountLink(hash, now) {
      const [row] = await database.read<AccountLinkRow>(
        sql`SELECT l.hash, l.account_id, l.purpose, l.created_at, l.expires_at
          FROM account_links l JOIN accounts a ON a.id = l.account_id
          WHERE l.hash = ${hash} AND l.expires_at > ${now} AND a.disabled_at IS NULL`,
      );
      return row === undefined ? null : readLink(row);
    },
    redeemAccountLink: (hash, chosen, at) =>
      database.transact({ steps: () => redeemLink(hash, chosen, at), postgres: { lock: 'accounts' } }),
  };
}

function* replaceLink(link: AccountLinkRecord): Steps<void> {
  yield sql`DELETE FROM account_links WHERE account_id = ${link.accountId}`;
  yield insertLink(link);
}

function* redeemLink(
  hash: string,
  { passwordHash, passkey }: Parameters<UserStore['redeemAccountLink']>[1],
  at: number,
): Steps<boolean> {
  // Point of no return: only one of several concurrent calls finds the link.
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
  yield* deleteTotpFactor(id);
  if (passkey !== null) yield insertPasskey(passkey);
  return true;
}

export function insertLink(link: AccountLinkRecord): Query {
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
