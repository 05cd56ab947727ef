/** Pins of tool definitions. A row is a tool of a server, with its approved and its pending definition. */
import type { ListedToolRecord, ToolPinRecord, ToolPinStore } from '@portcullis/protocol';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

interface PinRow {
  readonly server: string;
  readonly tool: string;
  readonly approved_hash: string | null;
  readonly approved_definition: string | null;
  readonly pending_hash: string | null;
  readonly pending_definition: string | null;
  readonly rejected_hash: string | null;
  readonly changed_at: number;
}

export function createToolPinStore(database: Database): ToolPinStore {
  return {
    async findToolPins(server) {
      const rows = await database.read<PinRow>(
        sql`SELECT server, tool, approved_hash, approved_definition, pending_hash, pending_definition, rejected_hash, changed_at
          FROM tool_pins WHERE server = ${server} ORDER BY tool`,
      );
      return rows.map(readPin);
    },
    async listPendingTools(limit) {
      const rows = await database.read<PinRow>(
        sql`SELECT server, tool, approved_hash, approved_definition, pending_hash, pending_definition, rejected_hash, changed_at
          FROM tool_pins WHERE pending_hash IS NOT NULL ORDER BY server, tool LIMIT ${limit}`,
      );
      return rows.map(readPin);
    },
    saveFirstToolPins: (server, tools, at) =>
      database.transact({ steps: () => saveFirst(server, tools, at), postgres: { lock: 'tool_pins' } }),
    async savePendingTool(listed, at) {
      return (await database.write(savePending(listed, at))).length > 0;
    },
    async decidePendingTool(decision, { server, tool, hash }, at) {
      const decided =
        decision === 'approve'
          ? sql`UPDATE tool_pins SET approved_hash = pending_hash, approved_definition = pending_definition, pending_hash = NULL,
              pending_definition = NULL, rejected_hash = NULL, changed_at = ${at}
            WHERE server = ${server} AND tool = ${tool} AND pending_hash = ${hash} RETURNING 1 AS one`
          : sql`UPDATE tool_pins SET rejected_hash = pending_hash, pending_hash = NULL, pending_definition = NULL, changed_at = ${at}
            WHERE server = ${server} AND tool = ${tool} AND pending_hash = ${hash} RETURNING 1 AS one`;
      return (await database.write(decided)).length > 0;
    },
  };
}

function* saveFirst(
  server: string,
  tools: readonly Omit<ListedToolRecord, 'server'>[],
  at: number,
): Steps<boolean> {
  const known = yield sql`SELECT 1 AS one FROM tool_pins WHERE server = ${server} LIMIT 1`;
  if (known.length > 0) return false;
  for (const { tool, hash, definition } of tools) {
    yield sql`INSERT INTO tool_pins (server, tool, approved_hash, approved_definition, changed_at)
      VALUES (${server}, ${tool}, ${hash}, ${definition}, ${at})`;
  }
  return true;
}

function savePending({ server, tool, hash, definition }: ListedToolRecord, at: number): Query {
  return sql`INSERT INTO tool_pins (server, tool, pending_hash, pending_definition, changed_at)
    VALUES (${server}, ${tool}, ${hash}, ${definition}, ${at})
    ON CONFLICT (server, tool) DO UPDATE SET pending_hash = excluded.pending_hash,
      pending_definition = excluded.pending_definition, changed_at = excluded.changed_at
    WHERE COALESCE(tool_pins.pending_hash, '') <> excluded.pending_hash
      AND COALESCE(tool_pins.approved_hash, '') <> excluded.pending_hash
      AND COALESCE(tool_pins.rejected_hash, '') <> excluded.pending_hash
    RETURNING 1 AS one`;
}

function readPin(row: PinRow): ToolPinRecord {
  return {
    server: row.server,
    tool: row.tool,
    approvedHash: row.approved_hash,
    approvedDefinition: row.approved_definition,
    pendingHash: row.pending_hash,
    pendingDefinition: row.pending_definition,
    rejectedHash: row.rejected_hash,
    changedAt: row.changed_at,
  };
}
