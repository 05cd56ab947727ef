/** Pins of definitions. A row is a definition by its hash: approved, rejected or waiting for approval. */
import type {
  DefinitionList,
  DefinitionPinRecord,
  DefinitionPinStore,
  ListedDefinition,
  PendingDefinitionRecord,
  WholeDefinition,
} from '@portcullis/protocol';
import type { Database, Steps } from './database.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, type Query, sql } from './sql.ts';

const pinColumns = defineRecordColumns<DefinitionPinRecord>('name hash covers status definition changedAt');
const pendingColumns = defineRecordColumns<Omit<PendingDefinitionRecord, 'approvedDefinition'>>(
  'server backend kind name hash definition changedAt',
);
const insertPin = defineRecordColumns<DefinitionList & DefinitionPinRecord>(
  'server backend kind name hash covers status definition changedAt',
).insertInto('definition_pins');
const OF_LIST = 'server = ? AND backend = ? AND kind = ?';
const OF_HASH = `${OF_LIST} AND name = ? AND hash = ?`;
const pinsOf = defineQuery(
  `SELECT ${pinColumns.select()} FROM definition_pins WHERE ${OF_LIST} ORDER BY name, hash`,
);
const anyOfList = defineQuery(`SELECT 1 AS one FROM definition_pins WHERE ${OF_LIST} LIMIT 1`);
const anyOfHash = defineQuery(`SELECT 1 AS one FROM definition_pins WHERE ${OF_HASH}`);
const decideBy = (change: string) =>
  defineQuery(`UPDATE definition_pins SET ${change}, changed_at = ?
    WHERE ${OF_HASH} AND status = 'pending' RETURNING 1 AS one`);
const decisions = {
  approve: decideBy("status = 'approved'"),
  reject: decideBy("status = 'rejected', definition = NULL"),
};
const pendingPins = (condition: string) =>
  defineQuery(`SELECT ${pendingColumns.select()},
      (SELECT approved.definition FROM definition_pins AS approved WHERE approved.server = pending.server
        AND approved.backend = pending.backend AND approved.kind = pending.kind AND approved.name = pending.name
        AND approved.status = 'approved' ORDER BY approved.changed_at DESC LIMIT 1) AS approved_definition
    FROM definition_pins AS pending WHERE status = 'pending' ${condition} ORDER BY server, backend, kind, name LIMIT ?`);
const allPending = pendingPins('');
const pendingOfServer = pendingPins('AND server = ?');
const pendingOfTool = pendingPins('AND server = ? AND name = ?');
const countPending = defineQuery(
  `SELECT server, COUNT(*) AS waiting FROM definition_pins WHERE status = 'pending' AND server > '' GROUP BY server ORDER BY server`,
);

/** Definitions of one name that wait for approval. A backend that never lists the same one twice would fill the table. */
const MAX_PENDING = 8;

export function createDefinitionPinStore(database: Database): DefinitionPinStore {
  return {
    findPins: ({ server, backend, kind }) => pinColumns.findAll(database, pinsOf(server, backend, kind)),
    async listPendingPins(limit, of) {
      const rows = await database.read<{ readonly approved_definition: string | null }>(
        findPending(limit, of),
      );
      return rows.map((row) => ({
        ...pendingColumns.read(row),
        approvedDefinition: row.approved_definition,
      }));
    },
    async countPendingPins() {
      const rows = await database.read<{ readonly server: string; readonly waiting: number }>(countPending());
      return new Map(rows.map(({ server, waiting }) => [server, waiting]));
    },
    saveFirstPins: (list, definitions, at) =>
      database.transact(() => saveFirst(list, definitions, at), 'definition_pins'),
    savePendingPin: (list, definition, at) =>
      database.transact(() => savePending(list, definition, at), 'definition_pins'),
    decidePendingPin: (decision, { server, backend, kind }, { name, hash }, at) =>
      database.changes(decisions[decision](at, server, backend, kind, name, hash)),
    replaceMemberPins: (list, definitions) =>
      database.transact(() => replaceMembers(list, definitions), 'definition_pins'),
  };
}

function findPending(limit: number, of?: { readonly server: string; readonly name?: string }): Query {
  if (of === undefined) return allPending(limit);
  return of.name === undefined ? pendingOfServer(of.server, limit) : pendingOfTool(of.server, of.name, limit);
}

function* saveFirst(
  list: DefinitionList,
  definitions: readonly ListedDefinition[],
  changedAt: number,
): Steps<boolean> {
  const known = yield anyOfList(list.server, list.backend, list.kind);
  if (known.length > 0) return false;
  for (const definition of definitions)
    yield insertPin({ ...list, ...definition, covers: 'whole', status: 'approved', changedAt });
  return true;
}

function* savePending(list: DefinitionList, definition: ListedDefinition, changedAt: number): Steps<boolean> {
  const { server, backend, kind } = list;
  const { name, hash } = definition;
  const known = yield anyOfHash(server, backend, kind, name, hash);
  if (known.length > 0) return false;
  yield sql`DELETE FROM definition_pins WHERE server = ${server} AND backend = ${backend} AND kind = ${kind} AND name = ${name}
    AND status = 'pending' AND hash NOT IN (SELECT hash FROM definition_pins
      WHERE server = ${server} AND backend = ${backend} AND kind = ${kind} AND name = ${name} AND status = 'pending'
      ORDER BY changed_at DESC, hash LIMIT ${MAX_PENDING - 1})`;
  yield insertPin({ ...list, ...definition, covers: 'whole', status: 'pending', changedAt });
  return true;
}

/** Several whole definitions may have the same members, as for clients with other capabilities. */
function* replaceMembers(
  { server, backend, kind }: DefinitionList,
  definitions: readonly WholeDefinition[],
): Steps<void> {
  for (const { name, hash, definition, membersHash } of definitions) {
    yield sql`INSERT INTO definition_pins (server, backend, kind, name, hash, covers, status, definition, changed_at)
      SELECT server, backend, kind, name, CAST(${hash} AS TEXT), 'whole', status,
        CASE WHEN status = 'rejected' THEN NULL ELSE CAST(${definition} AS TEXT) END, changed_at
      FROM definition_pins WHERE server = ${server} AND backend = ${backend} AND kind = ${kind} AND name = ${name}
        AND hash = ${membersHash} AND covers = 'members'
      ON CONFLICT (server, backend, kind, name, hash) DO UPDATE SET covers = 'whole'`;
  }
  for (const { name, membersHash } of definitions) {
    yield sql`DELETE FROM definition_pins WHERE server = ${server} AND backend = ${backend} AND kind = ${kind}
      AND name = ${name} AND hash = ${membersHash} AND covers = 'members'`;
  }
}
