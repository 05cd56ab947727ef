/** Rate limits across processes: a token bucket per key, stored as the time at which it is full again. */
import type {
  RateLimitCharge,
  RateLimitStore,
  StoredRateLimit,
} from '@portcullis/authorization-server/store';
import type { Database } from '../database.ts';
import { type Query, sql } from '../sql.ts';

export function createRateLimitStore(database: Database): RateLimitStore {
  return {
    async chargeRateLimit(key, limit, now) {
      const charge = { key, limit, now };
      const isTaken = await database.changes(chargeRateLimit(charge), ['rate_limits', key]);
      return isTaken ? 0 : rateLimitWait(database, charge);
    },
  };
}

/**
 * Consumes a token: returns a row if there was one. A bucket that fills later than an empty one was written by a process whose clock
 * was ahead; it counts as full.
 * @see the generic cell rate algorithm, ITU-T I.371
 */
export function chargeRateLimit({ key, limit, now }: RateLimitCharge): Query {
  const { interval } = limit;
  const last = now + bucketDepth(limit);
  return sql`INSERT INTO rate_limits (key, full_at) VALUES (${key}, ${now + interval})
    ON CONFLICT (key) DO UPDATE SET full_at =
      CASE WHEN rate_limits.full_at > ${now} AND rate_limits.full_at <= ${last} THEN rate_limits.full_at + ${interval} ELSE ${now + interval} END
    WHERE rate_limits.full_at <= ${last} OR rate_limits.full_at > ${last + interval} RETURNING 1 AS one`;
}

/** The seconds until a bucket that was found empty has a token. */
export async function rateLimitWait(
  database: Database,
  { key, limit, now }: RateLimitCharge,
): Promise<number> {
  const [row] = await database.read<{ readonly full_at: number }>(
    sql`SELECT full_at FROM rate_limits WHERE key = ${key}`,
  );
  return Math.max(1, (row?.full_at ?? now) - now - bucketDepth(limit));
}

/** Writes a full bucket that limits nothing, to check that the database accepts writes. */
export function writeProbe(now: number): Query {
  return sql`INSERT INTO rate_limits (key, full_at) VALUES ('write probe', ${now})
    ON CONFLICT (key) DO UPDATE SET full_at = ${now}`;
}

/** The seconds that filling an empty bucket takes, less one token. */
export function bucketDepth({ burst, interval }: StoredRateLimit): number {
  return (burst - 1) * interval;
}
