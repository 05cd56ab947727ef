/** Published statuses as facts of a database. */
import type {
  RevokedAccess,
  StatusIndexOwner,
  StatusListStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

interface EndedRow {
  readonly what: 'places' | 'grant' | 'token' | 'lent to grant' | 'lent to client';
  readonly name: string;
  readonly place: number | null;
}

export function createStatusStore(database: Database): StatusListStore {
  return {
    async reserveStatusIndexes(count) {
      const [row] = await database.change<{ readonly taken: number }>(
        sql`INSERT INTO status_places (one, taken) VALUES (1, ${count})
          ON CONFLICT (one) DO UPDATE SET taken = status_places.taken + ${count} RETURNING taken`,
      );
      return (row?.taken ?? count) - count;
    },
    allocateStatusIndex: (holder, offered, at, until, isAnother) =>
      database.fact({
        steps: () => (isAnother ? lendOffered(holder, offered, at, until) : lend(holder, offered, at, until)),
        postgres: { lock: null },
      }),
    async listRevokedAccess(since, now) {
      return readEnded(await database.read<EndedRow>(endedSince(since, now)));
    },
  };
}

/** Two processes may each lend a place to one holder: both are kept, and end with it. */
function* lend(holder: StatusIndexOwner, offered: number, at: number, until: number): Steps<number> {
  const { kind, id } = holder;
  const renewed = (yield sql`UPDATE lent_places
      SET expires_at = CASE WHEN expires_at > ${until} THEN expires_at ELSE ${until} END
    WHERE place = (SELECT MAX(place) FROM lent_places WHERE holder = ${id} AND kind = ${kind})
      AND since >= COALESCE((SELECT created_at FROM clients WHERE id = ${id} AND ${kind} = 'client'), 0)
    RETURNING place`) as readonly { readonly place: number }[];
  if (renewed[0] !== undefined) return renewed[0].place;
  return yield* lendOffered(holder, offered, at, until);
}

function* lendOffered(
  { kind, id }: StatusIndexOwner,
  offered: number,
  at: number,
  until: number,
): Steps<number> {
  yield sql`INSERT INTO lent_places (place, kind, holder, since, expires_at)
    VALUES (${offered}, ${kind}, ${id}, ${at}, ${until})`;
  return offered;
}

/** One statement, so that it is one moment, and one round trip. */
function endedSince(since: number, now: number): Query {
  return sql`SELECT 'places' AS what, '' AS name, taken AS place FROM status_places WHERE one = 1
    UNION ALL
    SELECT 'grant', id, NULL FROM grants WHERE revoked_at >= ${since}
    UNION ALL
    SELECT 'grant', grant_id, NULL FROM bonds WHERE ended_at >= ${since}
    UNION ALL
    SELECT 'token', id, NULL FROM revoked_access_tokens WHERE expires_at > ${now}
    UNION ALL
    SELECT 'lent to grant', p.holder, p.place FROM grants g JOIN lent_places p ON p.holder = g.id AND p.kind = 'grant'
      WHERE g.revoked_at >= ${since}
    UNION ALL
    SELECT 'lent to grant', p.holder, p.place FROM bonds b JOIN lent_places p ON p.holder = b.grant_id AND p.kind = 'grant'
      WHERE b.ended_at >= ${since}
    UNION ALL
    SELECT 'lent to client', p.holder, p.place FROM lent_places p WHERE p.kind = 'client' AND p.expires_at > ${now}
      AND NOT EXISTS (SELECT 1 FROM clients c WHERE c.id = p.holder AND c.disabled_at IS NULL AND c.created_at <= p.since)`;
}

function readEnded(rows: readonly EndedRow[]): RevokedAccess {
  const named = (what: EndedRow['what']) => rows.filter((row) => row.what === what);
  const lentTo = (kind: StatusIndexOwner['kind']) =>
    named(`lent to ${kind}`).map(({ name, place }) => ({ kind, id: name, index: place ?? 0 }));
  return {
    allocatedCount: named('places')[0]?.place ?? 0,
    grants: named('grant').map(({ name }) => name),
    tokens: named('token').map(({ name }) => name),
    allocations: [...lentTo('grant'), ...lentTo('client')],
  };
}
