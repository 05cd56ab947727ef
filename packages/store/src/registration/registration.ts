/** Dynamic client registration: rate-limited or with an initial access token. */
import type {
  ClientRecord,
  InitialAccessTokenRecord,
  RateLimitCharge,
  RegistrationStore,
} from '@portcullis/authorization-server/store';
import { insertClient, newClientColumns } from '../core/clients.ts';
import { CHARGE, chargeRateLimit, chargeValues, rateLimitWait } from '../core/rate-limits.ts';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, type Query, sql } from '../sql.ts';
import { createClientMetadataDocumentStore } from './client-metadata-documents.ts';

const tokenColumns = defineRecordColumns<InitialAccessTokenRecord>(
  'id hash note createdAt expiresAt clientId',
);
const insertToken = tokenColumns.insertInto('initial_access_tokens');
const SELECT_TOKEN = `SELECT ${tokenColumns.select()} FROM initial_access_tokens`;
const tokenByHash = defineQuery(`${SELECT_TOKEN} WHERE hash = ? AND expires_at > ?`);
const tokensAfter = defineQuery(`${SELECT_TOKEN} WHERE id > ? AND expires_at > ? ORDER BY id LIMIT ?`);

export function createRegistrationStore(database: Database): RegistrationStore {
  return {
    ...createClientMetadataDocumentStore(database),
    async registerClient(client, charge, network) {
      if (charge === null) {
        await database.write(insertClient(client, network), ['clients', client.id]);
        return 0;
      }
      const isTaken = await database.transact(() => register(client, charge, network), {
        query: () => registerAtOnce(client, charge, network),
        read: (taken) => taken.length > 0,
        row: ['rate_limits', charge.key],
      });
      return isTaken ? 0 : rateLimitWait(database, charge);
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
    saveInitialAccessToken: (token) => database.write(insertToken(token)),
    findInitialAccessToken: (hash, now) => tokenColumns.findFirst(database, tokenByHash(hash, now)),
    listInitialAccessTokens: (after, limit, now) =>
      tokenColumns.findAll(database, tokensAfter(after, now, limit)),
    registerClientWithInitialAccessToken: (client, hash) =>
      database.transact(() => registerWithToken(client, hash), null),
    revokeInitialAccessToken: (id) => database.transact(() => revoke(id), null),
  };
}

function* register(client: ClientRecord, charge: RateLimitCharge, network: string | null): Steps<boolean> {
  const taken = yield chargeRateLimit(charge);
  if (taken.length === 0) return false;
  yield insertClient(client, network);
  return true;
}

const registerInOneStatement = defineQuery(`WITH taken AS (
      ${CHARGE} RETURNING full_at
    ), registered AS (
      INSERT INTO clients (${newClientColumns.names}) SELECT ${newClientColumns.marks} FROM taken
      ON CONFLICT (id) DO NOTHING
    ) SELECT full_at FROM taken`);

function registerAtOnce(client: ClientRecord, charge: RateLimitCharge, network: string | null): Query {
  return registerInOneStatement(...chargeValues(charge), ...newClientColumns.values({ ...client, network }));
}

function* registerWithToken(client: ClientRecord, hash: string): Steps<boolean> {
  // Point of no return: only one of several concurrent registrations uses the token.
  const used = yield sql`UPDATE initial_access_tokens SET client_id = ${client.id}
    WHERE hash = ${hash} AND client_id IS NULL AND expires_at > ${client.createdAt} RETURNING 1 AS one`;
  if (used.length === 0) return false;
  yield insertClient(client);
  return true;
}

function* revoke(id: string): Steps<'revoked' | 'used' | 'unknown'> {
  const revoked =
    yield sql`DELETE FROM initial_access_tokens WHERE id = ${id} AND client_id IS NULL RETURNING 1 AS one`;
  if (revoked.length > 0) return 'revoked';
  const used = yield sql`SELECT 1 AS one FROM initial_access_tokens WHERE id = ${id}`;
  return used.length > 0 ? 'used' : 'unknown';
}
