/** The audit log as facts of a database. */
import type { EventRecord, EventStore } from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
import { type Query, sql } from './sql.ts';

interface EventRow {
  readonly id: string;
  readonly at: number;
  readonly type: string;
  readonly client_id: string | null;
  readonly account_id: string | null;
  readonly grant_id: string | null;
  readonly resource: string | null;
  readonly flow_id: string | null;
  readonly details: string;
  readonly expires_at: number;
}

export function createEventStore(database: Database): EventStore {
  const read = async (query: Query) => (await database.read<EventRow>(query)).map(readEvent);
  return {
    appendEvents: (events) =>
      database.fact({
        steps: () => append(events),
        postgres: { query: () => appendAtOnce(events), read: () => undefined },
      }),
    listEvents: (after, limit) =>
      read(
        sql`SELECT id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at FROM events
          WHERE id > ${after} ORDER BY id LIMIT ${limit}`,
      ),
    async lastEvents(limit) {
      const events = await read(
        sql`SELECT id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at FROM events
          WHERE id > '' ORDER BY id DESC LIMIT ${limit}`,
      );
      return events.toReversed();
    },
    listFlow: (flowId, limit) =>
      read(
        sql`SELECT id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at FROM events
          WHERE flow_id = ${flowId} ORDER BY id LIMIT ${limit}`,
      ),
  };
}

function* append(events: readonly EventRecord[]): Steps<undefined> {
  for (const event of events) {
    yield sql`INSERT INTO events (id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at)
      VALUES (${event.id}, ${event.at}, ${event.type}, ${event.clientId}, ${event.accountId}, ${event.grantId},
        ${event.resource}, ${event.flowId}, ${JSON.stringify(event.details)}, ${event.expiresAt})
      ON CONFLICT (id) DO NOTHING`;
  }
}

/** One value holds them all, so that their number changes neither the statement nor the round trips. */
function appendAtOnce(events: readonly EventRecord[]): Query {
  const rows = JSON.stringify(
    events.map(({ details, ...event }) => ({ ...event, details: JSON.stringify(details) })),
  );
  // PostgreSQL's text holds no U+0000.
  const text = rows.replaceAll('\\u0000', '\\ufffd');
  return sql`INSERT INTO events (id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at)
    SELECT id, at, type, "clientId", "accountId", "grantId", resource, "flowId", details, "expiresAt"
    FROM json_to_recordset(${text}::json) AS event (id text, at bigint, type text, "clientId" text, "accountId" text,
      "grantId" text, resource text, "flowId" text, details text, "expiresAt" bigint)
    ON CONFLICT (id) DO NOTHING`;
}

function readEvent(row: EventRow): EventRecord {
  return {
    id: row.id,
    at: row.at,
    type: row.type,
    clientId: row.client_id,
    accountId: row.account_id,
    grantId: row.grant_id,
    resource: row.resource,
    flowId: row.flow_id,
    details: readJson(row.details),
    expiresAt: row.expires_at,
  };
}
