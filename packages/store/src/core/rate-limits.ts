/** Rate limits across processes: a token bucket per key, stored as the time at which it is full again. */
import type {
  RateLimitCharge,
  RateLimitStore,
  StoredRateLimit,
} from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import type { Database } from '../database.ts';
import { defineQuery, type Query, sql, type Value } from '../sql.ts';

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
 * Consumes a token, if there is one. A bucket that fills later than an empty one, beyond the tolerance, was written by a process with
 * a wrong clock; it counts as full.
 * @see the generic cell rate algorithm, ITU-T I.371
 */
export const CHARGE = `INSERT INTO rate_limits (key, full_at) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET full_at =
      CASE WHEN rate_limits.full_at > ? AND rate_limits.full_at <= ? THEN rate_limits.full_at + ? ELSE ? END
    WHERE rate_limits.full_at <= ? OR rate_limits.full_at > ?`;
const charge = defineQuery(`${CHARGE} RETURNING 1 AS one`);

/** The values of `CHARGE`. */
export function chargeValues({ key, limit, now }: RateLimitCharge): readonly Value[] {
  const { interval } = limit;
  const [next, last] = [now + interval, now + bucketDepth(limit)];
  return [key, next, now, last, interval, next, last, last + interval + SKEW_TOLERANCE];
}

/** Returns a row if there was a token. */
export function chargeRateLimit(one: RateLimitCharge): Query {
  return charge(...chargeValues(one));
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
function bucketDepth({ burst, interval }: StoredRateLimit): number {
  return (burst - 1) * interval;
}
