/** Invitations of clients as facts of a database. */
import type {
  ClientRecord,
  InitialAccessTokenRecord,
  InitialAccessTokenStore,
} from '@portcullis/authorization-server/store';
import { insertClient } from './clients.ts';
import type { Database, Steps } from './database.ts';
import { sql } from './sql.ts';

interface InitialAccessTokenRow {
  readonly id: string;
  readonly hash: string;
  readonly note: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly client_id: string | null;
}

export function createInitialAccessTokenStore(database: Database): InitialAccessTokenStore {
  return {
    async saveInitialAccessToken({ id, hash, note, createdAt, expiresAt, clientId }) {
      await database.change(
        sql`INSERT INTO client_invitations (id, hash, note, created_at, expires_at, client_id)
          VALUES (${id}, ${hash}, ${note}, ${createdAt}, ${expiresAt}, ${clientId})`,
      );
    },
    async findInitialAccessToken(hash, now) {
      const [row] = await database.read<InitialAccessTokenRow>(
        sql`SELECT id, hash, note, created_at, expires_at, client_id FROM client_invitations
          WHERE hash = ${hash} AND expires_at > ${now}`,
      );
      return row === undefined ? null : readInitialAccessToken(row);
    },
    async listInitialAccessTokens(after, limit, now) {
      const rows = await database.read<InitialAccessTokenRow>(
        sql`SELECT id, hash, note, created_at, expires_at, client_id FROM client_invitations
          WHERE id > ${after} AND expires_at > ${now} ORDER BY id LIMIT ${limit}`,
      );
      return rows.map(readInitialAccessToken);
    },
    registerClientWithInitialAccessToken: (client, hash) =>
      database.fact({ steps: () => register(client, hash), postgres: { lock: null } }),
    revokeInitialAccessToken: (id) => database.fact({ steps: () => takeBack(id), postgres: { lock: null } }),
  };
}

function* register(client: ClientRecord, hash: string): Steps<boolean> {
  // Point of no return: of all who come, one finds the invitation.
  const used = yield sql`UPDATE client_invitations SET client_id = ${client.id}
    WHERE hash = ${hash} AND client_id IS NULL AND expires_at > ${client.createdAt} RETURNING 1 AS one`;
  if (used.length === 0) return false;
  yield insertClient(client);
  return true;
}

function* takeBack(id: string): Steps<'revoked' | 'used' | 'unknown'> {
  const gone =
    yield sql`DELETE FROM client_invitations WHERE id = ${id} AND client_id IS NULL RETURNING 1 AS one`;
  if (gone.length > 0) return 'revoked';
  const used = yield sql`SELECT 1 AS one FROM client_invitations WHERE id = ${id}`;
  return used.length > 0 ? 'used' : 'unknown';
}

function readInitialAccessToken(row: InitialAccessTokenRow): InitialAccessTokenRecord {
  return {
    id: row.id,
    hash: row.hash,
    note: row.note,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    clientId: row.client_id,
  };
}
