/** Signing keys as facts of a database. */
import type { KeyRecord, KeyStore } from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

interface KeyRow {
  readonly id: string;
  readonly algorithm: string;
  readonly public_jwk: string;
  readonly sealed_private_key: Uint8Array;
  readonly created_at: number;
}

export function createKeyStore(database: Database): KeyStore {
  return {
    async listKeys() {
      return (await database.read<KeyRow>(allKeys())).map(readKey);
    },
    saveFirstKey: (key) => database.fact({ steps: () => saveFirst(key), postgres: { lock: 'signing_keys' } }),
  };
}

function* saveFirst(key: KeyRecord): Steps<readonly KeyRecord[]> {
  const others = yield sql`SELECT 1 AS one FROM signing_keys LIMIT 1`;
  if (others.length === 0) {
    yield sql`INSERT INTO signing_keys (id, algorithm, public_jwk, sealed_private_key, created_at)
      VALUES (${key.id}, ${key.algorithm}, ${key.publicJwk}, ${key.sealedPrivateKey}, ${key.createdAt})`;
  }
  const rows = yield allKeys();
  return (rows as readonly KeyRow[]).map(readKey);
}

function allKeys(): Query {
  return sql`SELECT id, algorithm, public_jwk, sealed_private_key, created_at FROM signing_keys ORDER BY created_at DESC, id`;
}

function readKey(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    algorithm: row.algorithm,
    publicJwk: row.public_jwk,
    sealedPrivateKey: new Uint8Array(row.sealed_private_key),
    createdAt: row.created_at,
  };
}
