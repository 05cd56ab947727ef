/** Turns that processes share as facts of a database. */
import type {
  RateLimitCharge,
  RateLimitStore,
  StoredRateLimit,
} from '@portcullis/authorization-server/store';
import type { Database } from './database.ts';
import { type Query, sql } from './sql.ts';

export function createRateLimitStore(database: Database): RateLimitStore {
  return {
    async chargeRateLimit(key, limit, now) {
      const turn = { key, limit, now };
      const taken = await database.change(chargeRateLimit(turn));
      return taken.length > 0 ? 0 : rateLimitWait(database, turn);
    },
  };
}

/** A row holds the instant at which every turn taken is paid back. It comes back when the turn was taken. */
export function chargeRateLimit({ key, limit, now }: RateLimitCharge): Query {
  const { interval } = limit;
  return sql`INSERT INTO turns (key, due_at) VALUES (${key}, ${now + interval})
    ON CONFLICT (key) DO UPDATE SET due_at =
      CASE WHEN turns.due_at > ${now} THEN turns.due_at + ${interval} ELSE ${now + interval} END
    WHERE turns.due_at <= ${now + toleranceOf(limit)} RETURNING 1 AS one`;
}

/** The seconds after which a turn that was refused can be had. */
export async function rateLimitWait(
  database: Database,
  { key, limit, now }: RateLimitCharge,
): Promise<number> {
  const [row] = await database.read<{ readonly due_at: number }>(
    sql`SELECT due_at FROM turns WHERE key = ${key}`,
  );
  return Math.max(1, (row?.due_at ?? now) - now - toleranceOf(limit));
}

export function toleranceOf({ burst, interval }: StoredRateLimit): number {
  return (burst - 1) * interval;
}
