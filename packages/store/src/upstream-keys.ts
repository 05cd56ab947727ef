/** Data keys, which seal what belongs to third parties, as facts of a database. */
import type { DataKeyRecord, FederationStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

interface DataKeyRow {
  readonly id: string;
  readonly sealed_key: Uint8Array;
  readonly created_at: number;
}

type DataKeyStore = Pick<
  FederationStore,
  'listDataKeys' | 'addDataKey' | 'reencryptDataKeys' | 'removeUnusedDataKeys' | 'discardDataKeys'
>;

export function createDataKeyStore(database: Database): DataKeyStore {
  return {
    async listDataKeys() {
      return readKeys(await database.read<DataKeyRow>(allKeys()));
    },
    addDataKey: (key, after) =>
      database.fact({ steps: () => add(key, after), postgres: { lock: 'data_keys' } }),
    reencryptDataKeys: (sealed) =>
      database.fact({ steps: () => reseal(sealed), postgres: { lock: 'data_keys' } }),
    removeUnusedDataKeys: (before) =>
      database.fact({ steps: () => removeUnused(before), postgres: { lock: 'data_keys' } }),
    discardDataKeys: (ids, at) =>
      database.fact({ steps: () => discard(ids, at), postgres: { lock: 'data_keys' } }),
  };
}

function* add(key: DataKeyRecord, after: string | null): Steps<readonly DataKeyRecord[]> {
  const others = readKeys(yield allKeys());
  if ((others[0]?.id ?? null) !== after) return others;
  yield sql`INSERT INTO data_keys (id, sealed_key, created_at) VALUES (${key.id}, ${key.encryptedKey}, ${key.createdAt})`;
  return readKeys(yield allKeys());
}

function* reseal(sealed: ReadonlyMap<string, Uint8Array>): Steps<boolean> {
  const keys = readKeys(yield allKeys());
  if (keys.length !== sealed.size || keys.some(({ id }) => !sealed.has(id))) return false;
  for (const [id, envelope] of sealed) {
    yield sql`UPDATE data_keys SET sealed_key = ${envelope} WHERE id = ${id}`;
  }
  return true;
}

/** The newest stays, and so does whatever a process may still seal under without knowing that there is a newer one. */
function* removeUnused(before: number): Steps<number> {
  const [newest, ...older] = readKeys(yield allKeys());
  if (newest === undefined || newest.createdAt >= before) return 0;
  let removed = 0;
  for (const { id } of older) {
    const gone = yield sql`DELETE FROM data_keys WHERE id = ${id}
      AND NOT EXISTS (SELECT 1 FROM bonds WHERE data_key_id = ${id} AND sealed_tokens IS NOT NULL) RETURNING 1 AS one`;
    removed += gone.length;
  }
  return removed;
}

/** There are no tokens left that could be revoked at the third party: no farewell is due. */
function* discard(ids: readonly string[], at: number): Steps<number> {
  let count = 0;
  for (const id of ids) {
    const ended = (yield sql`UPDATE bonds SET ended_at = ${at}, end_reason = 'revoked_here'
      WHERE data_key_id = ${id} AND sealed_tokens IS NOT NULL AND ended_at IS NULL RETURNING grant_id`) as readonly {
      readonly grant_id: string;
    }[];
    for (const { grant_id: grantId } of ended) {
      yield sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL`;
    }
    yield sql`UPDATE bonds SET sealed_tokens = NULL, due_at = NULL
      WHERE data_key_id = ${id} AND sealed_tokens IS NOT NULL`;
    yield sql`DELETE FROM data_keys WHERE id = ${id}`;
    count += ended.length;
  }
  return count;
}

function allKeys(): Query {
  return sql`SELECT id, sealed_key, created_at FROM data_keys ORDER BY created_at DESC, id DESC`;
}

function readKeys(rows: readonly unknown[]): readonly DataKeyRecord[] {
  return (rows as readonly DataKeyRow[]).map((row) => ({
    id: row.id,
    encryptedKey: new Uint8Array(row.sealed_key),
    createdAt: row.created_at,
  }));
}
