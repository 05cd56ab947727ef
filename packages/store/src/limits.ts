/** Turns that processes share as facts of a database. */
import type { LimitStore, Turn, TurnLimit } from '@portcullis/authorization-server/store';
import type { Database } from './database.ts';
import { type Query, sql } from './sql.ts';

export function createLimitStore(database: Database): LimitStore {
  return {
    async takeTurn(key, limit, now) {
      const turn = { key, limit, now };
      const taken = await database.change(takeTurn(turn));
      return taken.length > 0 ? 0 : waitForTurn(database, turn);
    },
  };
}

/** A row holds the instant at which every turn taken is paid back. It comes back when the turn was taken. */
export function takeTurn({ key, limit, now }: Turn): Query {
  const { interval } = limit;
  return sql`INSERT INTO turns (key, due_at) VALUES (${key}, ${now + interval})
    ON CONFLICT (key) DO UPDATE SET due_at =
      CASE WHEN turns.due_at > ${now} THEN turns.due_at + ${interval} ELSE ${now + interval} END
    WHERE turns.due_at <= ${now + toleranceOf(limit)} RETURNING 1 AS one`;
}

/** The seconds after which a turn that was refused can be had. */
export async function waitForTurn(database: Database, { key, limit, now }: Turn): Promise<number> {
  const [row] = await database.read<{ readonly due_at: number }>(
    sql`SELECT due_at FROM turns WHERE key = ${key}`,
  );
  return Math.max(1, (row?.due_at ?? now) - now - toleranceOf(limit));
}

export function toleranceOf({ burst, interval }: TurnLimit): number {
  return (burst - 1) * interval;
}
