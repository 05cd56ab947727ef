/** Rows of accounts. */
import type { AccountRecord } from '@portcullis/authorization-server/store';
import { defineRecordColumns, type RecordColumns } from '../record-columns.ts';
import type { Query } from '../sql.ts';

export const accountColumns: RecordColumns<AccountRecord> = defineRecordColumns(
  'id email emailKey passwordHash createdAt disabledAt role',
);

export const insertAccount: (account: AccountRecord) => Query = accountColumns.insertInto('accounts');
