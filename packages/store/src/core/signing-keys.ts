/** Signing keys, with encrypted private keys. */
import type { SigningKeyRecord, SigningKeyStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { type Query, sql } from '../sql.ts';

interface SigningKeyRow {
  readonly id: string;
  readonly algorithm: string;
  readonly public_jwk: string;
  readonly encrypted_private_key: Uint8Array;
  readonly created_at: number;
  readonly signs_from: number;
}

export function createSigningKeyStore(database: Database): SigningKeyStore {
  return {
    async listSigningKeys() {
      return readKeys(await database.read<SigningKeyRow>(allKeys()));
    },
    addSigningKey: (key, after) =>
      database.transact({ steps: () => add(key, after), postgres: { lock: 'signing_keys' } }),
    removeSigningKeys: (ids) =>
      database.transact({ steps: () => remove(ids), postgres: { lock: 'signing_keys' } }),
    reencryptSigningKeys: (encrypted) =>
      database.transact({ steps: () => reencrypt(encrypted), postgres: { lock: 'signing_keys' } }),
  };
}

function* add(key: SigningKeyRecord, after: string | null): Steps<readonly SigningKeyRecord[]> {
  const others = readKeys(yield allKeys());
  if ((others[0]?.id ?? null) !== after) return others;
  yield sql`INSERT INTO signing_keys (id, algorithm, public_jwk, encrypted_private_key, created_at, signs_from)
    VALUES (${key.id}, ${key.algorithm}, ${key.publicJwk}, ${key.encryptedPrivateKey}, ${key.createdAt}, ${key.signsFrom})`;
  return readKeys(yield allKeys());
}

function* remove(ids: readonly string[]): Steps<void> {
  for (const id of ids) yield sql`DELETE FROM signing_keys WHERE id = ${id}`;
}

function* reencrypt(encrypted: ReadonlyMap<string, Uint8Array>): Steps<boolean> {
  const keys = readKeys(yield allKeys());
  if (keys.length !== encrypted.size || keys.some(({ id }) => !encrypted.has(id))) return false;
  for (const [id, privateKey] of encrypted) {
    yield sql`UPDATE signing_keys SET encrypted_private_key = ${privateKey} WHERE id = ${id}`;
  }
  return true;
}

function allKeys(): Query {
  return sql`SELECT id, algorithm, public_jwk, encrypted_private_key, created_at, signs_from FROM signing_keys
    ORDER BY created_at DESC, signs_from DESC, id`;
}

function readKeys(rows: readonly unknown[]): readonly SigningKeyRecord[] {
  return (rows as readonly SigningKeyRow[]).map((row) => ({
    id: row.id,
    algorithm: row.algorithm,
    publicJwk: row.public_jwk,
    encryptedPrivateKey: new Uint8Array(row.encrypted_private_key),
    createdAt: row.created_at,
    signsFrom: row.signs_from,
  }));
}
