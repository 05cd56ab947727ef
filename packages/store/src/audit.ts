/** The audit log. */
import type { AuditEventRecord, AuditEventSearch, AuditStore } from '@portcullis/authorization-server/store';
import { createDailyAppend } from './audit-days.ts';
import type { Database, Steps } from './database.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, defineRows, type Query, type Template } from './sql.ts';

const columns = defineRecordColumns<AuditEventRecord>(
  'id at type clientId accountId grantId resource transactionId details:json expiresAt',
);
const COLUMNS = columns.select();

const eventsAfter = defineQuery(`SELECT ${COLUMNS} FROM audit_events WHERE id > ? ORDER BY id LIMIT ?`);
const latestEvents = defineQuery(
  `SELECT ${COLUMNS} FROM audit_events WHERE id > '' ORDER BY id DESC LIMIT ?`,
);
const eventsBefore = defineQuery(`SELECT ${COLUMNS} FROM audit_events WHERE id < ? ORDER BY id DESC LIMIT ?`);
/** Columns that may be null are compared with themselves where anything matches. */
const eventsOfSearch = defineQuery(
  `SELECT ${COLUMNS} FROM audit_events WHERE id >= ? AND id < ? AND type >= ? AND type <= ? AND details LIKE ?
    AND COALESCE(client_id, '') = COALESCE(?, client_id, '') AND COALESCE(account_id, '') = COALESCE(?, account_id, '')
    AND COALESCE(grant_id, '') = COALESCE(?, grant_id, '')
  ORDER BY id DESC LIMIT ?`,
);
const eventsOfTransaction = defineQuery(
  `SELECT ${COLUMNS} FROM audit_events WHERE transaction_id = ? ORDER BY id LIMIT ?`,
);

export function createAuditStore(database: Database): AuditStore {
  const read = (query: Query) => columns.findAll(database, query);
  return {
    appendEvents: database.partitionsEvents
      ? createDailyAppend(database, createDailyInsert())
      : (events) => database.transact(() => append(events), null),
    beforeCommit: (call, within) => database.beforeCommit(call, within),
    listEvents: (after, limit) => read(eventsAfter(after, limit)),
    async listLatestEvents(limit, before) {
      const latest = before === undefined ? latestEvents(limit) : eventsBefore(before, limit);
      return (await read(latest)).toReversed();
    },
    searchEvents: async (search, limit) => (await read(searchQuery(search, limit))).toReversed(),
    listTransactionEvents: (transactionId, limit) => read(eventsOfTransaction(transactionId, limit)),
  };
}

/** After every character of the name of a type. */
const LAST = '~';

function searchQuery(
  { from, before, type, clientId, accountId, grantId, detail }: AuditEventSearch,
  limit: number,
): Query {
  const isBelow = type?.endsWith('*') === true;
  const first = isBelow ? type.slice(0, -1) : (type ?? '');
  const last = isBelow || type === null ? `${first}${LAST}` : first;
  const details = detail === null ? '%' : patternOf(detail);
  return eventsOfSearch(from, before, first, last, details, clientId, accountId, grantId, limit);
}

/** A backslash would escape in the pattern of one database only. */
function patternOf(detail: readonly [string, string]): string {
  const [name, value] = detail.map((text) => JSON.stringify(text));
  const member = `${name}:${value}`;
  return member.includes('\\') ? '%' : `%${member}%`;
}

/** Rows per statement. */
const BATCH = 16;

const insertMany = insertOf(BATCH);
const insertOne = insertOf(1);

/** `OR ROLLBACK`, as where grants are created: SQLite need not copy pages to undo one statement. */
function insertOf(rows: number): Template {
  const before = `INSERT OR ROLLBACK INTO audit_events (${columns.names}) VALUES`;
  return defineRows(before, 10, rows, 'ON CONFLICT (id) DO NOTHING');
}

function* append(events: readonly AuditEventRecord[]): Steps<undefined> {
  const whole = events.length - (events.length % BATCH);
  for (let from = 0; from < whole; from += BATCH) {
    yield { template: insertMany, values: events.slice(from, from + BATCH).flatMap(columns.values) };
  }
  for (const event of events.slice(whole)) yield { template: insertOne, values: columns.values(event) };
}

/** All rows are one JSON parameter: their number changes neither the statement nor the round trips. */
function insertOfTable(table: string): (rows: string) => Query {
  return defineQuery(`INSERT INTO ${table} (${columns.names})
    SELECT id, at, type, "clientId", "accountId", "grantId", resource, "transactionId", details, "expiresAt"
    FROM json_to_recordset(?::json) AS event (id text, at bigint, type text, "clientId" text, "accountId" text,
      "grantId" text, resource text, "transactionId" text, details text, "expiresAt" bigint)
    ON CONFLICT (id) DO NOTHING`);
}

/** Caches the statement of the last table, which is used until the day ends. */
function createDailyInsert(): (table: string, events: readonly AuditEventRecord[]) => Query {
  let last: { readonly table: string; readonly insert: (rows: string) => Query } | null = null;
  return (table, events) => {
    if (last?.table !== table) last = { table, insert: insertOfTable(table) };
    return last.insert(rowsOf(events));
  };
}

function rowsOf(events: readonly AuditEventRecord[]): string {
  const rows = JSON.stringify(
    events.map(({ details, ...event }) => ({ ...event, details: JSON.stringify(details) })),
  );
  // PostgreSQL's text holds no U+0000.
  return rows.replaceAll('\\u0000', '\\ufffd');
}
