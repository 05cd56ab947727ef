/** The event streams of receivers of security events. */
import type { EventStreamRecord, EventStreamStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { readList } from './json.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, sql } from './sql.ts';

const columns =
  defineRecordColumns<EventStreamRecord>(`id clientId endpoint encryptedAuthorization:bytes eventsRequested:json
  description status reason removedAccounts:json cursor acknowledged verificationRequestedAt createdAt version`);
const insert = columns.insertInto('event_streams');
const SELECT = `SELECT ${columns.select()} FROM event_streams`;
const byId = defineQuery(`${SELECT} WHERE id = ?`);
const all = defineQuery(`${SELECT} ORDER BY id`);
const save = defineQuery(
  `UPDATE event_streams SET (${columns.names}) = (${columns.marks}) WHERE id = ? AND version = ? RETURNING 1 AS one`,
);
const liveGrants = defineQuery(
  'SELECT resources FROM grants WHERE account_id = ? AND created_at <= ? AND revoked_at IS NULL',
);
const endedGrants = defineQuery(
  'SELECT resources FROM grants WHERE revoked_at >= ? AND account_id = ? AND created_at <= ?',
);

/** Maximum clock skew, in seconds, between the change of a grant and its event. */
const CLOCKS = 2;

export function createEventStreamStore(database: Database): EventStreamStore {
  return {
    createEventStream: (stream, limit) => database.transact(() => create(stream, limit), 'event_streams'),
    findEventStream: (id) => columns.findFirst(database, byId(id)),
    listEventStreams: () => columns.findAll(database, all()),
    saveEventStream: (stream) =>
      database.changes(save(...columns.values(stream), stream.id, stream.version - 1)),
    removeEventStream: (id) => database.transact(() => remove(id), null),
    async listGrantedResources(accountId, at) {
      const rows = [
        ...(await database.read<{ readonly resources: string }>(liveGrants(accountId, at + CLOCKS))),
        ...(await database.read<{ readonly resources: string }>(
          endedGrants(at - CLOCKS, accountId, at + CLOCKS),
        )),
      ];
      return [...new Set(rows.flatMap(({ resources }) => readList(resources)))];
    },
  };
}

function* create(stream: EventStreamRecord, limit: number): Steps<boolean> {
  const own = yield sql`SELECT id FROM event_streams WHERE client_id = ${stream.clientId}`;
  if (own.length >= limit) return false;
  yield insert(stream);
  return true;
}

function* remove(id: string): Steps<boolean> {
  const removed = yield sql`DELETE FROM event_streams WHERE id = ${id} RETURNING 1 AS one`;
  yield sql`DELETE FROM webhooks WHERE name = ${id}`;
  return removed.length > 0;
}
