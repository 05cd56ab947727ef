/** The audit log. */
import type { AuditEventRecord, AuditStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
import { defineQuery, defineRows, type Query, sql, type Template, type Value } from './sql.ts';

interface AuditEventRow {
  readonly id: string;
  readonly at: number;
  readonly type: string;
  readonly client_id: string | null;
  readonly account_id: string | null;
  readonly grant_id: string | null;
  readonly resource: string | null;
  readonly transaction_id: string | null;
  readonly details: string;
  readonly expires_at: number;
}

const COLUMNS =
  'id, at, type, client_id, account_id, grant_id, resource, transaction_id, details, expires_at';

const eventsAfter = defineQuery(`SELECT ${COLUMNS} FROM audit_events WHERE id > ? ORDER BY id LIMIT ?`);
const latestEvents = defineQuery(
  `SELECT ${COLUMNS} FROM audit_events WHERE id > '' ORDER BY id DESC LIMIT ?`,
);
const eventsOfTransaction = defineQuery(
  `SELECT ${COLUMNS} FROM audit_events WHERE transaction_id = ? ORDER BY id LIMIT ?`,
);

export function createAuditStore(database: Database): AuditStore {
  const read = async (query: Query) => (await database.read<AuditEventRow>(query)).map(readEvent);
  return {
    appendEvents: (events) =>
      database.transact({
        steps: () => append(events),
        postgres: { query: () => appendInOneStatement(events), read: () => undefined },
      }),
    beforeCommit: (call, within) => database.beforeCommit(call, within),
    listEvents: (after, limit) => read(eventsAfter(after, limit)),
    async listLatestEvents(limit) {
      return (await read(latestEvents(limit))).toReversed();
    },
    listTransactionEvents: (transactionId, limit) => read(eventsOfTransaction(transactionId, limit)),
  };
}

/** Rows per statement. */
const BATCH = 16;

const insertMany = insertOf(BATCH);
const insertOne = insertOf(1);

/** `OR ROLLBACK`, as where grants are created: SQLite need not copy pages to undo one statement. */
function insertOf(rows: number): Template {
  return defineRows(
    'INSERT OR ROLLBACK INTO audit_events (id, at, type, client_id, account_id, grant_id, resource, transaction_id, details, expires_at) VALUES',
    10,
    rows,
    'ON CONFLICT (id) DO NOTHING',
  );
}

function* append(events: readonly AuditEventRecord[]): Steps<undefined> {
  const whole = events.length - (events.length % BATCH);
  for (let from = 0; from < whole; from += BATCH) {
    yield { template: insertMany, values: events.slice(from, from + BATCH).flatMap(valuesOf) };
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

/** All rows are one JSON parameter: their number changes neither the statement nor the round trips. */
function appendInOneStatement(events: readonly AuditEventRecord[]): Query {
  const rows = JSON.stringify(
    events.map(({ details, ...event }) => ({ ...event, details: JSON.stringify(details) })),
  );
  // PostgreSQL's text holds no U+0000.
  const text = rows.replaceAll('\\u0000', '\\ufffd');
  return sql`INSERT INTO audit_events (id, at, type, client_id, account_id, grant_id, resource, transaction_id, details, expires_at)
    SELECT id, at, type, "clientId", "accountId", "grantId", resource, "transactionId", details, "expiresAt"
    FROM json_to_recordset(${text}::json) AS event (id text, at bigint, type text, "clientId" text, "accountId" text,
      "grantId" text, resource text, "transactionId" text, details text, "expiresAt" bigint)
    ON CONFLICT (id) DO NOTHING`;
}

function readEvent(row: AuditEventRow): AuditEventRecord {
  return {
    id: row.id,
    at: row.at,
    type: row.type,
    clientId: row.client_id,
    accountId: row.account_id,
    grantId: row.grant_id,
    resource: row.resource,
    transactionId: row.transaction_id,
    details: readJson(row.details),
    expiresAt: row.expires_at,
  };
}
