/** Account rows: insert and read. */
import type { AccountRecord } from '@portcullis/authorization-server/store';
import { type Query, sql } from '../sql.ts';

export interface AccountRow {
  readonly id: string;
  readonly email: string;
  readonly email_key: string;
  readonly password_hash: string;
  readonly created_at: number;
  readonly disabled_at: number | null;
}

export const ACCOUNT_COLUMNS = 'id, email, email_key, password_hash, created_at, disabled_at';

export function insertAccount(account: AccountRecord): Query {
  return sql`INSERT INTO accounts (id, email, email_key, password_hash, created_at, disabled_at)
    VALUES (${account.id}, ${account.email}, ${account.emailKey}, ${account.passwordHash}, ${account.createdAt},
      ${account.disabledAt})`;
}

export function readAccount([row]: readonly AccountRow[]): AccountRecord | null {
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
