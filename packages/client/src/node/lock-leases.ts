/** Locks that processes share through one database: leases, renewed while they are held, and lost by whoever dies. */
import { randomUUID } from 'node:crypto';
import type { Unlock } from '../storage/credential-store.ts';
import { createLockQueue } from '../storage/lock-queue.ts';
import type { CredentialDatabase } from './credential-database.ts';

export interface LockLeases {
  /** Waits for the lock of that name, and takes it. */
  lock(name: string): Promise<Unlock>;
  /** Gives back all that this process holds. */
  giveUpAll(): void;
}

/** A holder renews its lease in time; one that died loses it after this. Milliseconds. */
const LEASE = 15_000;
const RENEWAL = 4_000;
const POLL = 40;

/** Makes the locks of a database. */
export function createLockLeases({ statement }: CredentialDatabase, clock: () => number): LockLeases {
  const queue = createLockQueue();
  const held = new Map<string, NodeJS.Timeout>();

  return {
    /** Those of this process wait in a queue, so that only its first asks the others. */
    async lock(name) {
      const release = await queue(name);
      const holder = randomUUID();
      while (!take(name, holder)) await new Promise((resolve) => setTimeout(resolve, POLL));
      held.set(holder, setInterval(() => renew(name, holder), RENEWAL).unref());
      return async () => {
        giveUp(holder);
        await release();
      };
    },
    giveUpAll() {
      for (const holder of [...held.keys()]) giveUp(holder);
    },
  };

  function giveUp(holder: string): void {
    if (!held.has(holder)) return;
    clearInterval(held.get(holder));
    held.delete(holder);
    statement('DELETE FROM leases WHERE holder = ?').run(holder);
  }

  /** One renewal that fails does no harm: the next one comes before the lease ends. */
  function renew(name: string, holder: string): void {
    try {
      take(name, holder);
    } catch {
      return;
    }
  }

  /** Takes a lease that is free, over, or one's own; one statement, so that only one process can. */
  function take(name: string, holder: string): boolean {
    const now = Math.floor(clock());
    const { changes } = statement(
      `INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
       WHERE leases.holder = excluded.holder OR leases.expires_at <= :now`,
    ).run({ name, holder, until: now + LEASE, now });
    return changes === 1;
  }
}
