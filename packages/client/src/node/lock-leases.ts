/** Locks that processes share through a database: leases that are renewed while in use, and expire when their process dies. */
import { randomUUID } from 'node:crypto';
import type { Unlock } from '../storage/credential-store.ts';
import { createLockQueue } from '../storage/lock-queue.ts';
import type { CredentialDatabase } from './credential-database.ts';

/** Milliseconds until a lease expires, between its renewals, and between attempts to acquire one. */
const LEASE_DURATION = 15_000;
const RENEWAL_INTERVAL = 4_000;
const POLL_INTERVAL = 40;

/** Creates the locks of a database. */
export function createLockLeases({ statement }: CredentialDatabase, clock: () => number) {
  const queue = createLockQueue();
  const renewals = new Map<string, NodeJS.Timeout>();

  return {
    /** Waits for a lock, and acquires it. Callers of one process queue: only the first one competes with other processes. */
    async lock(name: string): Promise<Unlock> {
      const leaveQueue = await queue(name);
      const holder = randomUUID();
      try {
        for (let waited = 0; !acquire(name, holder, waited); waited += POLL_INTERVAL)
          await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
      } catch (error) {
        await leaveQueue();
        throw error;
      }
      renewals.set(holder, setInterval(() => renew(name, holder), RENEWAL_INTERVAL).unref());
      return async () => {
        release(holder);
        await leaveQueue();
      };
    },
    /** Releases all locks of this process. */
    releaseAll(): void {
      for (const holder of [...renewals.keys()]) release(holder);
    },
  };

  /** If the lease cannot be deleted, it expires after 15 seconds; until then others wait. */
  function release(holder: string): void {
    if (!renewals.has(holder)) return;
    clearInterval(renewals.get(holder));
    renewals.delete(holder);
    try {
      statement('DELETE FROM leases WHERE holder = ?').run(holder);
    } catch {
      return;
    }
  }

  /** A failed renewal is harmless: the next one precedes the expiry of the lease. */
  function renew(name: string, holder: string): void {
    try {
      acquire(name, holder);
    } catch {
      return;
    }
  }

  /**
   * Acquires a lease that is free, expired or already its own, in one atomic statement. One that expires too late was
   * acquired while the clock was ahead: a holder that lives renews it within seconds after the clock was set back, so it is
   * taken over only after a wait.
   * @param waited for milliseconds
   */
  function acquire(name: string, holder: string, waited = 0): boolean {
    const now = Math.floor(clock());
    const latest = waited < 2 * RENEWAL_INTERVAL ? Number.MAX_SAFE_INTEGER : now + 2 * LEASE_DURATION;
    const { changes } = statement(
      `INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
       WHERE leases.holder = excluded.holder OR leases.expires_at NOT BETWEEN :now + 1 AND :latest`,
    ).run({ name, holder, until: now + LEASE_DURATION, now, latest });
    return changes === 1;
  }
}
