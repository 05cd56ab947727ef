/** Data keys, which encrypt tokens of other issuers. */
import type { DataKeyRecord, DataKeyStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

const columns = defineRecordColumns<DataKeyRecord>('id encryptedKey:bytes createdAt');
const insertKey = columns.insertInto('data_keys');
const allKeys = defineQuery(`SELECT ${columns.select()} FROM data_keys ORDER BY created_at DESC, id DESC`);

export function createDataKeyStore(database: Database): DataKeyStore {
  return {
    listDataKeys: () => columns.findAll(database, allKeys()),
    addDataKey: (key, after) => database.transact(() => add(key, after), 'data_keys'),
    reencryptDataKeys: (encrypted) => database.transact(() => reencrypt(encrypted), 'data_keys'),
    removeUnusedDataKeys: (before) => database.transact(() => removeUnused(before), 'data_keys'),
    discardDataKeys: (ids, at) => database.transact(() => discard(ids, at), 'data_keys'),
  };
}

function* add(key: DataKeyRecord, after: string | null): Steps<readonly DataKeyRecord[]> {
  const others = columns.readAll(yield allKeys());
  if ((others[0]?.id ?? null) !== after) return others;
  yield insertKey(key);
  return columns.readAll(yield allKeys());
}

function* reencrypt(encrypted: ReadonlyMap<string, Uint8Array>): Steps<boolean> {
  const keys = columns.readAll(yield allKeys());
  if (keys.length !== encrypted.size || keys.some(({ id }) => !encrypted.has(id))) return false;
  for (const [id, key] of encrypted) {
    yield sql`UPDATE data_keys SET encrypted_key = ${key} WHERE id = ${id}`;
  }
  return true;
}

/**
 * Retains the newest key, and every key that a process may still use because it has not read a newer one. Registrations at backends
 * are deleted with their key when their client is gone: only new connections use them, as the tokens have copies of their own.
 */
function* removeUnused(before: number): Steps<number> {
  const [newest, ...older] = columns.readAll(yield allKeys());
  if (newest === undefined || newest.createdAt >= before) return 0;
  let removed = 0;
  for (const { id } of older) {
    yield sql`DELETE FROM registrations_at_backends WHERE data_key_id = ${id} AND client_id <> ''
      AND NOT EXISTS (SELECT 1 FROM clients c WHERE c.id = registrations_at_backends.client_id)
      AND NOT EXISTS (SELECT 1 FROM client_metadata_documents d WHERE d.url = registrations_at_backends.client_id)
      AND NOT EXISTS (SELECT 1 FROM grants g
        WHERE g.client_id = registrations_at_backends.client_id AND g.revoked_at IS NULL AND g.id <> '')`;
    const gone = yield sql`DELETE FROM data_keys WHERE id = ${id}
      AND NOT EXISTS (SELECT 1 FROM provider_tokens WHERE data_key_id = ${id} AND encrypted_tokens IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM connected_accounts WHERE data_key_id = ${id} AND encrypted_tokens IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM registrations_at_backends WHERE data_key_id = ${id}) RETURNING 1 AS one`;
    removed += gone.length;
  }
  return removed;
}

/** Without the tokens nothing can be revoked at their issuer, so no revocation job is due. Connected accounts end without their grants. */
function* discard(ids: readonly string[], at: number): Steps<number> {
  let count = 0;
  for (const id of ids) {
    const ended = (yield sql`UPDATE provider_tokens SET ended_at = ${at}, end_reason = 'revoked_here'
      WHERE data_key_id = ${id} AND encrypted_tokens IS NOT NULL AND ended_at IS NULL RETURNING grant_id`) as readonly {
      readonly grant_id: string;
    }[];
    for (const { grant_id: grantId } of ended) {
      yield sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL`;
    }
    yield sql`UPDATE provider_tokens SET encrypted_tokens = NULL, due_at = NULL
      WHERE data_key_id = ${id} AND encrypted_tokens IS NOT NULL`;
    const accounts = yield sql`UPDATE connected_accounts SET ended_at = ${at}, end_reason = 'revoked_here'
      WHERE data_key_id = ${id} AND encrypted_tokens IS NOT NULL AND ended_at IS NULL RETURNING 1 AS one`;
    yield sql`UPDATE connected_accounts SET encrypted_tokens = NULL, due_at = NULL
      WHERE data_key_id = ${id} AND encrypted_tokens IS NOT NULL`;
    yield sql`DELETE FROM registrations_at_backends WHERE data_key_id = ${id}`;
    yield sql`DELETE FROM data_keys WHERE id = ${id}`;
    count += ended.length + accounts.length;
  }
  return count;
}
