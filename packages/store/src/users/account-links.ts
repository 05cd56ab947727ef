/** One-time links with which users choose how to sign in. */
import type { AccountLinkRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { insertPasskey } from '../mfa/passkeys.ts';
import { deleteTotpFactor } from '../mfa/totp.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';

const columns = defineRecordColumns<AccountLinkRecord>(
  'hash accountId purpose isMailed:boolean createdAt expiresAt',
);
const linkByHash = defineQuery(
  `SELECT ${columns.select('l.')} FROM account_links l JOIN accounts a ON a.id = l.account_id
    WHERE l.hash = ? AND l.expires_at > ? AND a.disabled_at IS NULL`,
);

export const insertLink: (link: AccountLinkRecord) => Query = columns.insertInto('account_links');

export type AccountLinkOperations = Pick<
  UserStore,
  'saveAccountLink' | 'findAccountLink' | 'redeemAccountLink'
>;

export function createAccountLinkOperations(database: Database): AccountLinkOperations {
  return {
    saveAccountLink: (link) => database.transact(() => replaceLink(link), 'accounts'),
    findAccountLink: (hash, now) => columns.findFirst(database, linkByHash(hash, now)),
    redeemAccountLink: (hash, chosen, at) =>
      database.transact(() => redeemLink(hash, chosen, at), 'accounts'),
  };
}

/** Anyone can have a link mailed: it replaces no link of an operator. */
function* replaceLink(link: AccountLinkRecord): Steps<void> {
  yield sql`DELETE FROM account_links WHERE account_id = ${link.accountId} AND is_mailed >= ${Number(link.isMailed)}`;
  yield insertLink(link);
}

function* redeemLink(
  hash: string,
  { passwordHash, passkey, keepsSecondFactor = false }: Parameters<UserStore['redeemAccountLink']>[1],
  at: number,
): Steps<boolean> {
  // Point of no return: only one of several concurrent calls finds the link.
  const [used] =
    (yield sql`DELETE FROM account_links WHERE hash = ${hash} AND expires_at > ${at} RETURNING account_id`) as readonly {
      readonly account_id: string;
    }[];
  if (used === undefined) return false;
  const id = used.account_id;
  yield sql`UPDATE accounts SET password_hash = ${passwordHash} WHERE id = ${id}`;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  yield sql`DELETE FROM sessions WHERE account_id = ${id}`;
  yield sql`DELETE FROM passkeys WHERE account_id = ${id}`;
  if (!keepsSecondFactor) yield* deleteTotpFactor(id);
  if (passkey !== null) yield insertPasskey(passkey);
  return true;
}
