/** Passkeys. */
import type { PasskeyRecord, PasskeyStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';
import { changeInSession } from './change-in-session.ts';

const columns = defineRecordColumns<PasskeyRecord>(
  'id accountId publicKey counter transports:json name createdAt lastUsedAt',
);
const COLUMNS = columns.select();

export const insertPasskey: (passkey: PasskeyRecord) => Query = columns.insertInto(
  'passkeys',
  'ON CONFLICT (id) DO NOTHING RETURNING 1 AS one',
);
const passkeyById = defineQuery(`SELECT ${COLUMNS} FROM passkeys WHERE id = ?`);
const passkeysByAccount = defineQuery(
  `SELECT ${COLUMNS} FROM passkeys WHERE account_id = ? ORDER BY created_at, id`,
);

export function createPasskeyStore(database: Database): PasskeyStore {
  return {
    addPasskey: (passkey, sessionHash) =>
      database.transact(
        () => changeInSession(sessionHash, passkey.accountId, () => add(passkey)),
        'accounts',
      ),
    findPasskey: (id) => columns.findFirst(database, passkeyById(id)),
    listPasskeys: (accountId) => columns.findAll(database, passkeysByAccount(accountId)),
    recordPasskeyUse: (id, counter, at) =>
      database.changes(
        sql`UPDATE passkeys SET counter = ${counter}, last_used_at = ${at}
          WHERE id = ${id} AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0)) RETURNING 1 AS one`,
      ),
    removePasskey: (accountId, id) =>
      database.changes(
        sql`DELETE FROM passkeys WHERE id = ${id} AND account_id = ${accountId} RETURNING 1 AS one`,
      ),
  };
}

function* add(passkey: PasskeyRecord): Steps<boolean> {
  const added = yield insertPasskey(passkey);
  return added.length > 0;
}
