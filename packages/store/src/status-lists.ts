/** Status indexes: reserved in blocks, allocated to grants and clients, listed when their owner ends. */
import type {
  RevokedAccess,
  StatusIndexOwner,
  StatusListStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

interface RevokedRow {
  readonly kind: 'allocated' | 'token' | 'index of grant' | 'index of client';
  readonly id: string;
  readonly value: number | null;
}

export function createStatusListStore(database: Database): StatusListStore {
  return {
    async reserveStatusIndexes(count) {
      const [row] = await database.writeRows<{ readonly allocated: number }>(
        sql`INSERT INTO status_index_counter (one, allocated) VALUES (1, ${count})
          ON CONFLICT (one) DO UPDATE SET allocated = status_index_counter.allocated + ${count} RETURNING allocated`,
      );
      return (row?.allocated ?? count) - count;
    },
    allocateStatusIndex: (owner, offered, at, until, isAnother) =>
      database.transact(
        () => (isAnother ? insert(owner, offered, at, until) : allocate(owner, offered, at, until)),
        null,
      ),
    async listRevokedAccess(since, now) {
      return readRevoked(await database.read<RevokedRow>(revokedSince(since, now)));
    },
    async listRevokedGrants(since) {
      const grants = await database.read<{ readonly id: string }>(
        sql`SELECT id FROM grants WHERE revoked_at >= ${since}
          UNION ALL
          SELECT grant_id AS id FROM provider_tokens WHERE ended_at >= ${since}`,
      );
      return grants.map(({ id }) => id);
    },
  };
}

/** Two processes may each allocate an index to one owner: both are stored, and end with it. */
function* allocate(owner: StatusIndexOwner, offered: number, at: number, until: number): Steps<number> {
  const { kind, id } = owner;
  const extended = (yield sql`UPDATE status_indexes
      SET expires_at = CASE WHEN expires_at > ${until} THEN expires_at ELSE ${until} END
    WHERE status_index = (SELECT MAX(status_index) FROM status_indexes WHERE owner_id = ${id} AND owner_kind = ${kind})
      AND allocated_at >= COALESCE((SELECT COALESCE(enabled_at, created_at) FROM clients WHERE id = ${id} AND ${kind} = 'client'), 0)
    RETURNING status_index`) as readonly { readonly status_index: number }[];
  if (extended[0] !== undefined) return extended[0].status_index;
  return yield* insert(owner, offered, at, until);
}

function* insert({ kind, id }: StatusIndexOwner, offered: number, at: number, until: number): Steps<number> {
  yield sql`INSERT INTO status_indexes (status_index, owner_kind, owner_id, allocated_at, expires_at)
    VALUES (${offered}, ${kind}, ${id}, ${at}, ${until})`;
  return offered;
}

/** One statement: one snapshot, one round trip. */
function revokedSince(since: number, now: number): Query {
  return sql`SELECT 'allocated' AS kind, '' AS id, allocated AS value FROM status_index_counter WHERE one = 1
    UNION ALL
    SELECT 'token', id, NULL FROM revoked_access_tokens WHERE expires_at > ${now}
    UNION ALL
    SELECT 'index of grant', i.owner_id, i.status_index FROM grants g
      JOIN status_indexes i ON i.owner_id = g.id AND i.owner_kind = 'grant' WHERE g.revoked_at >= ${since}
    UNION ALL
    SELECT 'index of grant', i.owner_id, i.status_index FROM provider_tokens t
      JOIN status_indexes i ON i.owner_id = t.grant_id AND i.owner_kind = 'grant' WHERE t.ended_at >= ${since}
    UNION ALL
    SELECT 'index of client', i.owner_id, i.status_index FROM status_indexes i
      WHERE i.owner_kind = 'client' AND i.expires_at > ${now} AND NOT EXISTS
        (SELECT 1 FROM clients c WHERE c.id = i.owner_id AND c.disabled_at IS NULL
          AND COALESCE(c.enabled_at, c.created_at) <= i.allocated_at)`;
}

function readRevoked(rows: readonly RevokedRow[]): RevokedAccess {
  const ofKind = (kind: RevokedRow['kind']) => rows.filter((row) => row.kind === kind);
  const indexesOf = (kind: StatusIndexOwner['kind']) =>
    ofKind(`index of ${kind}`).map(({ id, value }) => ({ kind, id, index: value ?? 0 }));
  return {
    allocatedCount: ofKind('allocated')[0]?.value ?? 0,
    tokens: ofKind('token').map(({ id }) => id),
    allocations: [...indexesOf('grant'), ...indexesOf('client')],
  };
}
