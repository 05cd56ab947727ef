/** Stored clients as facts of a database. */
import type { ClientRecord, ClientStore, RateLimitCharge } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { readFrozenJson } from './json.ts';
import { chargeRateLimit, rateLimitWait, toleranceOf } from './rate-limits.ts';
import { defineQuery, type Query, sql } from './sql.ts';

interface ClientRow {
  readonly id: string;
  readonly origin: ClientRecord['origin'];
  readonly metadata: string;
  readonly secret_hash: string | null;
  readonly management_hash: string | null;
  readonly created_at: number;
  readonly last_used_at: number | null;
  readonly disabled_at: number | null;
  readonly expires_at: number | null;
}

const COLUMNS =
  'id, origin, metadata, secret_hash, management_hash, created_at, last_used_at, disabled_at, expires_at';

const clientById = defineQuery(`SELECT ${COLUMNS} FROM clients WHERE id = ?`);
const clientsAfter = defineQuery(`SELECT ${COLUMNS} FROM clients WHERE id > ? ORDER BY id LIMIT ?`);

export function createClientStore(database: Database): ClientStore {
  return {
    async saveClient(client) {
      return (await database.change(insertClient(client))).length > 0;
    },
    async registerClient(client, turn, network) {
      if (turn === null) {
        await database.change(insertClient(client, network));
        return 0;
      }
      const isTaken = await database.fact({
        steps: () => register(client, turn, network),
        postgres: { query: () => registerAtOnce(client, turn, network), read: (taken) => taken.length > 0 },
      });
      return isTaken ? 0 : rateLimitWait(database, turn);
    },
    findClient: (id) =>
      database.recall('clients', clientById(id), ([row]: readonly ClientRow[]) =>
        row === undefined ? null : Object.freeze(readClient(row)),
      ),
    async listClients(after, limit) {
      return (await database.read<ClientRow>(clientsAfter(after, limit))).map(readClient);
    },
    async countUnusedClients() {
      const [row] = await database.read<{ readonly unused: number }>(
        sql`SELECT COUNT(*) AS unused FROM clients WHERE last_used_at IS NULL AND expires_at IS NOT NULL`,
      );
      return row?.unused ?? 0;
    },
    async countUnusedClientsByNetwork() {
      const rows = await database.read<{ readonly network: string; readonly unused: number }>(
        sql`SELECT network, COUNT(*) AS unused FROM clients
          WHERE last_used_at IS NULL AND expires_at IS NOT NULL AND network IS NOT NULL GROUP BY network`,
      );
      return new Map(rows.map(({ network, unused }) => [network, unused]));
    },
    async updateClient(id, { metadata, secretHash }) {
      const changed = await database.change(
        sql`UPDATE clients SET metadata = ${JSON.stringify(metadata)}, secret_hash = ${secretHash}
          WHERE id = ${id} RETURNING 1 AS one`,
      );
      return changed.length > 0;
    },
    async recordClientUse(id, at, expiresAt) {
      await database.change(
        sql`UPDATE clients SET last_used_at = ${at}, expires_at = ${expiresAt} WHERE id = ${id}`,
      );
    },
    disableClient: (id, at) => database.fact({ steps: () => disable(id, at), postgres: { lock: null } }),
    async enableClient(id) {
      const enabled = await database.change(
        sql`UPDATE clients SET disabled_at = NULL WHERE id = ${id} RETURNING 1 AS one`,
      );
      return enabled.length > 0;
    },
    removeClient: (id, at) => database.fact({ steps: () => remove(id, at), postgres: { lock: null } }),
  };
}

/** Inserts a client; returns no row when there is one with its identifier. */
export function insertClient(
  { id, origin, metadata, secretHash, managementHash, ...times }: ClientRecord,
  network: string | null = null,
): Query {
  return sql`INSERT INTO clients (id, origin, metadata, secret_hash, management_hash, created_at, last_used_at, disabled_at,
      expires_at, network)
    VALUES (${id}, ${origin}, ${JSON.stringify(metadata)}, ${secretHash}, ${managementHash}, ${times.createdAt},
      ${times.lastUsedAt}, ${times.disabledAt}, ${times.expiresAt}, ${network})
    ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`;
}

function* register(client: ClientRecord, turn: RateLimitCharge, network: string | null): Steps<boolean> {
  const taken = yield chargeRateLimit(turn);
  if (taken.length === 0) return false;
  yield insertClient(client, network);
  return true;
}

function registerAtOnce(
  { id, origin, metadata, secretHash, managementHash, ...times }: ClientRecord,
  { key, limit, now }: RateLimitCharge,
  network: string | null,
): Query {
  const { interval } = limit;
  return sql`WITH taken AS (
      INSERT INTO turns (key, due_at) VALUES (${key}, ${now + interval})
      ON CONFLICT (key) DO UPDATE SET due_at =
        CASE WHEN turns.due_at > ${now} THEN turns.due_at + ${interval} ELSE ${now + interval} END
      WHERE turns.due_at <= ${now + toleranceOf(limit)} RETURNING due_at
    ), registered AS (
      INSERT INTO clients (id, origin, metadata, secret_hash, management_hash, created_at, last_used_at, expires_at,
        network)
      SELECT ${id}, ${origin}, ${JSON.stringify(metadata)}, ${secretHash}::text, ${managementHash}::text,
        ${times.createdAt}::bigint, ${times.lastUsedAt}::bigint, ${times.expiresAt}::bigint, ${network}::text
      FROM taken
      ON CONFLICT (id) DO NOTHING
    ) SELECT due_at FROM taken`;
}

/**
 * Codes and transactions of a moment have no index by client: there are never many of them. On PostgreSQL each step sees what
 * was done before it began: it waits for whoever ends a transaction or redeems a code, and then finds what that made.
 */
function* remove(id: string, at: number): Steps<boolean> {
  const removed = yield sql`DELETE FROM clients WHERE id = ${id} RETURNING 1 AS one`;
  if (removed.length === 0) return false;
  yield* end(id, at);
  return true;
}

function* disable(id: string, at: number): Steps<boolean> {
  const disabled =
    yield sql`UPDATE clients SET disabled_at = COALESCE(disabled_at, ${at}) WHERE id = ${id} RETURNING 1 AS one`;
  if (disabled.length === 0) return false;
  yield* end(id, at);
  return true;
}

/** Ends what a client holds, and what is under way for it. */
function* end(id: string, at: number): Steps<void> {
  // Point of no return: whatever was under way for it finds nothing to end with.
  yield sql`DELETE FROM transactions WHERE client_id = ${id}`;
  yield sql`DELETE FROM codes WHERE client_id = ${id}`;
  yield sql`UPDATE grants SET revoked_at = ${at} WHERE client_id = ${id} AND revoked_at IS NULL`;
}

function readClient(row: ClientRow): ClientRecord {
  return {
    id: row.id,
    origin: row.origin,
    metadata: readFrozenJson(row.metadata),
    secretHash: row.secret_hash,
    managementHash: row.management_hash,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    disabledAt: row.disabled_at,
    expiresAt: row.expires_at,
  };
}
