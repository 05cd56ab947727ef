/** The audit log as facts of a database. */
import type { AuditEventRecord, AuditStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
import { defineQuery, defineRows, type Query, sql, type Template, type Value } from './sql.ts';

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

const COLUMNS = 'id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at';

const eventsAfter = defineQuery(`SELECT ${COLUMNS} FROM events WHERE id > ? ORDER BY id LIMIT ?`);
const lastEvents = defineQuery(`SELECT ${COLUMNS} FROM events WHERE id > '' ORDER BY id DESC LIMIT ?`);
const eventsOfFlow = defineQuery(`SELECT ${COLUMNS} FROM events WHERE flow_id = ? ORDER BY id LIMIT ?`);

export function createEventStore(database: Database): AuditStore {
  const read = async (query: Query) => (await database.read<EventRow>(query)).map(readEvent);
  return {
    appendEvents: (events) =>
      database.fact({
        steps: () => append(events),
        postgres: { query: () => appendAtOnce(events), read: () => undefined },
      }),
    beforeCommit: (call, within) => database.beforeCommit(call, within),
    listEvents: (after, limit) => read(eventsAfter(after, limit)),
    async listLatestEvents(limit) {
      return (await read(lastEvents(limit))).toReversed();
    },
    listTransactionEvents: (transactionId, limit) => read(eventsOfFlow(transactionId, limit)),
  };
}

/** Rows that one statement brings. */
const TOGETHER = 16;

const insertMany = definedFor(TOGETHER);
const insertOne = definedFor(1);

/** `OR ROLLBACK` for the same reason as where grants are made: SQLite copies no pages to take back one statement. */
function definedFor(rows: number): Template {
  return defineRows(
    'INSERT OR ROLLBACK INTO events (id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at) VALUES',
    10,
    rows,
    'ON CONFLICT (id) DO NOTHING',
  );
}

function* append(events: readonly AuditEventRecord[]): Steps<undefined> {
  const whole = events.length - (events.length % TOGETHER);
  for (let from = 0; from < whole; from += TOGETHER) {
    yield { template: insertMany, values: events.slice(from, from + TOGETHER).flatMap(valuesOf) };
  }
  for (const event of events.slice(whole)) yield { template: insertOne, values: valuesOf(event) };
}

function valuesOf(event: AuditEventRecord): readonly Value[] {
  const { id, at, type, clientId, accountId, grantId, resource, transactionId, details, expiresAt } = event;
  return [
    id,
    at,
    type,
    clientId,
    accountId,
    grantId,
    resource,
    transactionId,
    JSON.stringify(details),
    expiresAt,
  ];
}

/** One value holds them all, so that their number changes neither the statement nor the round trips. */
function appendAtOnce(events: readonly AuditEventRecord[]): Query {
  const rows = JSON.stringify(
    events.map(({ details, ...event }) => ({ ...event, details: JSON.stringify(details) })),
  );
  // PostgreSQL's text holds no U+0000.
  const text = rows.replaceAll('\\u0000', '\\ufffd');
  return sql`INSERT INTO events (id, at, type, client_id, account_id, grant_id, resource, flow_id, details, expires_at)
    SELECT id, at, type, "clientId", "accountId", "grantId", resource, "transactionId", details, "expiresAt"
    FROM json_to_recordset(${text}::json) AS event (id text, at bigint, type text, "clientId" text, "accountId" text,
      "grantId" text, resource text, "transactionId" text, details text, "expiresAt" bigint)
    ON CONFLICT (id) DO NOTHING`;
}

function readEvent(row: EventRow): AuditEventRecord {
  return {
    id: row.id,
    at: row.at,
    type: row.type,
    clientId: row.client_id,
    accountId: row.account_id,
    grantId: row.grant_id,
    resource: row.resource,
    transactionId: row.flow_id,
    details: readJson(row.details),
    expiresAt: row.expires_at,
  };
}
