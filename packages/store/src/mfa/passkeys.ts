/** Passkeys. */
import type { MfaStore, PasskeyRecord } from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { readJson } from '../json.ts';
import { defineQuery, type Query, sql } from '../sql.ts';

interface PasskeyRow {
  readonly id: string;
  readonly account_id: string;
  readonly public_key: string;
  readonly counter: number;
  readonly transports: string;
  readonly name: string;
  readonly created_at: number;
  readonly last_used_at: number | null;
}

const COLUMNS = 'id, account_id, public_key, counter, transports, name, created_at, last_used_at';

const passkeyById = defineQuery(`SELECT ${COLUMNS} FROM passkeys WHERE id = ?`);
const passkeysByAccount = defineQuery(
  `SELECT ${COLUMNS} FROM passkeys WHERE account_id = ? ORDER BY created_at, id`,
);

export type PasskeyStore = Pick<
  MfaStore,
  'addPasskey' | 'findPasskey' | 'listPasskeys' | 'recordPasskeyUse' | 'removePasskey'
>;

export function createPasskeyStore(database: Database): PasskeyStore {
  return {
    addPasskey: async (passkey) => (await database.write(insertPasskey(passkey))).length > 0,
    async findPasskey(id) {
      const [row] = await database.read<PasskeyRow>(passkeyById(id));
      return row === undefined ? null : readPasskey(row);
    },
    async listPasskeys(accountId) {
      return (await database.read<PasskeyRow>(passkeysByAccount(accountId))).map(readPasskey);
    },
    async recordPasskeyUse(id, counter, at) {
      const used = await database.write(
        sql`UPDATE passkeys SET counter = ${counter}, last_used_at = ${at}
          WHERE id = ${id} AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0)) RETURNING 1 AS one`,
      );
      return used.length > 0;
    },
    async removePasskey(accountId, id) {
      const removed = await database.write(
        sql`DELETE FROM passkeys WHERE id = ${id} AND account_id = ${accountId} RETURNING 1 AS one`,
      );
      return removed.length > 0;
    },
  };
}

export function insertPasskey(passkey: PasskeyRecord): Query {
  return sql`INSERT INTO passkeys (id, account_id, public_key, counter, transports, name, created_at, last_used_at)
    VALUES (${passkey.id}, ${passkey.accountId}, ${passkey.publicKey}, ${passkey.counter},
      ${JSON.stringify(passkey.transports)}, ${passkey.name}, ${passkey.createdAt}, ${passkey.lastUsedAt})
    ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`;
}

function readPasskey(row: PasskeyRow): PasskeyRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: readJson(row.transports),
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
