/** Stored clients as facts of a database. */
import type { ClientRecord, ClientStore } from '@portcullis/authorization-server/ports';
import type { Database } from './database.ts';
import { readJson } from './json.ts';
import { sql } from './sql.ts';

interface ClientRow {
  readonly id: string;
  readonly origin: ClientRecord['origin'];
  readonly metadata: string;
  readonly secret_hash: string | null;
  readonly created_at: number;
}

export function createClientStore(database: Database): ClientStore {
  return {
    async saveClient({ id, origin, metadata, secretHash, createdAt }) {
      await database.change(
        sql`INSERT INTO clients (id, origin, metadata, secret_hash, created_at)
          VALUES (${id}, ${origin}, ${JSON.stringify(metadata)}, ${secretHash}, ${createdAt})`,
      );
    },
    async findClient(id) {
      return readClient(
        await database.read<ClientRow>(
          sql`SELECT id, origin, metadata, secret_hash, created_at FROM clients WHERE id = ${id}`,
        ),
      );
    },
  };
}

function readClient([row]: readonly ClientRow[]): ClientRecord | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    origin: row.origin,
    metadata: readJson(row.metadata),
    secretHash: row.secret_hash,
    createdAt: row.created_at,
  };
}
