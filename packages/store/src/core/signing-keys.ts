/** Signing keys, with encrypted private keys. */
import type { SigningKeyRecord, SigningKeyStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

const columns = defineRecordColumns<SigningKeyRecord>(
  'id algorithm publicJwk encryptedPrivateKey:bytes createdAt signsFrom',
);
const insertKey = columns.insertInto('signing_keys');
const allKeys = defineQuery(
  `SELECT ${columns.select()} FROM signing_keys ORDER BY created_at DESC, signs_from DESC, id`,
);

export function createSigningKeyStore(database: Database): SigningKeyStore {
  return {
    listSigningKeys: () => columns.findAll(database, allKeys()),
    addSigningKey: (key, after) => database.transact(() => add(key, after), 'signing_keys'),
    removeSigningKeys: (ids) => database.transact(() => remove(ids), 'signing_keys'),
    reencryptSigningKeys: (encrypted) => database.transact(() => reencrypt(encrypted), 'signing_keys'),
  };
}

function* add(key: SigningKeyRecord, after: string | null): Steps<readonly SigningKeyRecord[]> {
  const others = columns.readAll(yield allKeys());
  if ((others[0]?.id ?? null) !== after) return others;
  yield insertKey(key);
  return columns.readAll(yield allKeys());
}

function* remove(ids: readonly string[]): Steps<void> {
  for (const id of ids) yield sql`DELETE FROM signing_keys WHERE id = ${id}`;
}

function* reencrypt(encrypted: ReadonlyMap<string, Uint8Array>): Steps<boolean> {
  const keys = columns.readAll(yield allKeys());
  if (keys.length !== encrypted.size || keys.some(({ id }) => !encrypted.has(id))) return false;
  for (const [id, privateKey] of encrypted) {
    yield sql`UPDATE signing_keys SET encrypted_private_key = ${privateKey} WHERE id = ${id}`;
  }
  return true;
}
