/** Turns that processes share as facts of a database. */
import type { LimitStore, TurnLimit } from '@portcullis/authorization-server/ports';
import type { Database } from './database.ts';
import { type Query, sql } from './sql.ts';

export function createLimitStore(database: Database): LimitStore {
  return {
    async takeTurn(key, limit, now) {
      const taken = await database.change(take(key, limit, now));
      if (taken.length > 0) return 0;
      const [row] = await database.read<{ readonly due_at: number }>(
        sql`SELECT due_at FROM turns WHERE key = ${key}`,
      );
      return Math.max(1, (row?.due_at ?? now) - now - toleranceOf(limit));
    },
  };
}

/** A row holds the instant at which every turn taken is paid back. */
function take(key: string, limit: TurnLimit, now: number): Query {
  const { interval } = limit;
  return sql`INSERT INTO turns (key, due_at) VALUES (${key}, ${now + interval})
    ON CONFLICT (key) DO UPDATE SET due_at =
      CASE WHEN turns.due_at > ${now} THEN turns.due_at + ${interval} ELSE ${now + interval} END
    WHERE turns.due_at <= ${now + toleranceOf(limit)} RETURNING due_at`;
}

function toleranceOf({ burst, interval }: TurnLimit): number {
  return (burst - 1) * interval;
}
