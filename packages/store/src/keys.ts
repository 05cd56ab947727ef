/** Signing keys as facts of a database. */
import type { SigningKeyRecord, SigningKeyStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

interface KeyRow {
  readonly id: string;
  readonly algorithm: string;
  readonly public_jwk: string;
  readonly sealed_private_key: Uint8Array;
  readonly created_at: number;
  readonly signs_from: number;
}

export function createKeyStore(database: Database): SigningKeyStore {
  return {
    async listSigningKeys() {
      return readKeys(await database.read<KeyRow>(allKeys()));
    },
    addSigningKey: (key, after) =>
      database.fact({ steps: () => add(key, after), postgres: { lock: 'signing_keys' } }),
    removeSigningKeys: (ids) =>
      database.fact({ steps: () => remove(ids), postgres: { lock: 'signing_keys' } }),
    reencryptSigningKeys: (sealed) =>
      database.fact({ steps: () => reseal(sealed), postgres: { lock: 'signing_keys' } }),
  };
}

function* add(key: SigningKeyRecord, after: string | null): Steps<readonly SigningKeyRecord[]> {
  const others = readKeys(yield allKeys());
  if ((others[0]?.id ?? null) !== after) return others;
  yield sql`INSERT INTO signing_keys (id, algorithm, public_jwk, sealed_private_key, created_at, signs_from)
    VALUES (${key.id}, ${key.algorithm}, ${key.publicJwk}, ${key.encryptedPrivateKey}, ${key.createdAt}, ${key.signsFrom})`;
  return readKeys(yield allKeys());
}

function* remove(ids: readonly string[]): Steps<void> {
  for (const id of ids) yield sql`DELETE FROM signing_keys WHERE id = ${id}`;
}

function* reseal(sealed: ReadonlyMap<string, Uint8Array>): Steps<boolean> {
  const keys = readKeys(yield allKeys());
  if (keys.length !== sealed.size || keys.some(({ id }) => !sealed.has(id))) return false;
  for (const [id, envelope] of sealed) {
    yield sql`UPDATE signing_keys SET sealed_private_key = ${envelope} WHERE id = ${id}`;
  }
  return true;
}

function allKeys(): Query {
  return sql`SELECT id, algorithm, public_jwk, sealed_private_key, created_at, signs_from FROM signing_keys
    ORDER BY created_at DESC, signs_from DESC, id`;
}

function readKeys(rows: readonly unknown[]): readonly SigningKeyRecord[] {
  return (rows as readonly KeyRow[]).map((row) => ({
    id: row.id,
    algorithm: row.algorithm,
    publicJwk: row.public_jwk,
    encryptedPrivateKey: new Uint8Array(row.sealed_private_key),
    createdAt: row.created_at,
    signsFrom: row.signs_from,
  }));
}
