/** Clients, and client assertions that were used: replay detection. */
import type { ClientRecord, ClientStore } from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns, type RecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';

const MEMBERS = `id origin metadata:frozen secretHash managementHash createdAt lastUsedAt disabledAt enabledAt verifiedAt
  expiresAt`;
const columns = defineRecordColumns<Omit<ClientRecord, 'previousSecret'>>(MEMBERS);
const SELECT = `SELECT ${columns.select()}, previous_secret_hash, previous_secret_expires_at FROM clients`;
const clientById = defineQuery(`${SELECT} WHERE id = ?`);
const clientsAfter = defineQuery(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`);
/** The network is a keyed hash of the one that the client registered from. */
export const newClientColumns: RecordColumns<ClientRecord & { readonly network: string | null }> =
  defineRecordColumns(`${MEMBERS} network`);
const insert = newClientColumns.insertInto('clients', 'ON CONFLICT (id) DO NOTHING RETURNING 1 AS one');

interface ClientRow {
  readonly previous_secret_hash: string | null;
  readonly previous_secret_expires_at: number | null;
}

export function createClientStore(database: Database): ClientStore {
  return {
    saveClient: (client) => database.changes(insertClient(client), ['clients', client.id]),
    findClient: (id) =>
      database.readCached('clients', clientById(id), ([row]: readonly ClientRow[]) =>
        row === undefined ? null : Object.freeze(readClient(row)),
      ),
    async listClients(after, limit) {
      return (await database.read<ClientRow>(clientsAfter(after, limit))).map(readClient);
    },
    updateClient: (id, { metadata, secretHash }) =>
      database.changes(
        secretHash === undefined
          ? sql`UPDATE clients SET metadata = ${JSON.stringify(metadata)}, verified_at = NULL WHERE id = ${id} RETURNING 1 AS one`
          : sql`UPDATE clients SET metadata = ${JSON.stringify(metadata)}, secret_hash = ${secretHash},
              previous_secret_hash = NULL, previous_secret_expires_at = NULL, verified_at = NULL
            WHERE id = ${id} RETURNING 1 AS one`,
      ),
    saveClientVerification: (id, metadata, verifiedAt) =>
      database.changes(
        sql`UPDATE clients SET verified_at = ${verifiedAt} WHERE id = ${id} AND metadata = ${JSON.stringify(metadata)}
          RETURNING 1 AS one`,
      ),
    rotateClientSecret: (id, secretHash, previousUntil) =>
      database.changes(
        sql`UPDATE clients SET secret_hash = ${secretHash}, previous_secret_hash = secret_hash,
            previous_secret_expires_at = ${previousUntil}
          WHERE id = ${id} AND secret_hash IS NOT NULL RETURNING 1 AS one`,
      ),
    recordClientUse: (id, at, expiresAt) =>
      database.write(
        sql`UPDATE clients SET last_used_at = ${at}, expires_at = ${expiresAt} WHERE id = ${id}`,
        ['clients', id],
      ),
    disableClient: (id, at) => database.transact(() => disable(id, at), null),
    // In the second in which it was disabled it is enabled as of the next one: tokens of that second stay revoked. Of a clock that was
    // ahead it is not known when it disabled the client.
    enableClient: (id, at) =>
      database.changes(
        sql`UPDATE clients SET disabled_at = NULL, enabled_at =
            CASE WHEN disabled_at IS NULL THEN enabled_at WHEN disabled_at < ${at} OR disabled_at > ${at + SKEW_TOLERANCE} THEN ${at}
              ELSE disabled_at + 1 END
          WHERE id = ${id} RETURNING 1 AS one`,
      ),
    removeClient: (id, at) => database.transact(() => remove(id, at), null),
    consumeClientAssertion: (hash, expiresAt) =>
      database.changes(
        sql`INSERT INTO used_client_assertions (hash, expires_at) VALUES (${hash}, ${Math.ceil(expiresAt)})
          ON CONFLICT (hash) DO NOTHING RETURNING hash`,
        ['used_client_assertions', hash],
      ),
  };
}

/** Inserts a client; returns no row when the identifier is taken. */
export function insertClient(client: ClientRecord, network: string | null = null): Query {
  return insert({ ...client, network });
}

/**
 * Neither codes, transactions nor device authorizations have an index by client: there are never many. On PostgreSQL each step sees what was committed
 * before it began: it waits for a transaction that completes or a code that is redeemed, and then finds the result.
 */
function* remove(id: string, at: number): Steps<boolean> {
  const removed = yield sql`DELETE FROM clients WHERE id = ${id} RETURNING 1 AS one`;
  if (removed.length === 0) return false;
  yield* revokeAll(id, at);
  // A receiver of security events gets no more of them, nor does a later client of the same identifier.
  yield sql`DELETE FROM webhooks WHERE name IN (SELECT id FROM event_streams WHERE client_id = ${id})`;
  yield sql`DELETE FROM event_streams WHERE client_id = ${id}`;
  return true;
}

function* disable(id: string, at: number): Steps<boolean> {
  const disabled =
    yield sql`UPDATE clients SET disabled_at = CASE WHEN disabled_at >= ${at} THEN disabled_at + 1 ELSE ${at} END
      WHERE id = ${id} RETURNING 1 AS one`;
  if (disabled.length === 0) return false;
  yield* revokeAll(id, at);
  return true;
}

/** Revokes the grants of a client and cancels its authorization requests. */
function* revokeAll(id: string, at: number): Steps<void> {
  // Point of no return: pending authorization requests cannot complete any more.
  yield sql`DELETE FROM authorization_transactions WHERE client_id = ${id}`;
  yield sql`DELETE FROM device_authorizations WHERE client_id = ${id}`;
  yield sql`DELETE FROM authorization_codes WHERE client_id = ${id}`;
  yield sql`UPDATE grants SET revoked_at = ${at} WHERE client_id = ${id} AND revoked_at IS NULL AND id <> ''`;
}

function readClient(row: ClientRow): ClientRecord {
  const { previous_secret_hash: hash, previous_secret_expires_at: expiresAt } = row;
  const previousSecret = hash === null || expiresAt === null ? null : Object.freeze({ hash, expiresAt });
  return { ...columns.read(row), previousSecret };
}
