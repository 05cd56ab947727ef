/** Sessions or processes of users, bounded in number: those that are idle are closed after a time, or replaced by new ones. */
import { BackendError } from './backend.ts';

export interface PoolEntry {
  /** As `userKey` returns it. */
  readonly user: string;
  /** `performance.now()` of its last use. */
  readonly usedAt: number;
  isBusy(): boolean;
  close(): Promise<void>;
}

export interface IdlePoolOptions<Entry extends PoolEntry> {
  readonly limits: {
    readonly entries: number;
    readonly perUser: number;
    /** Milliseconds without use after which an entry is closed. */
    readonly idle: number;
  };
  /** Milliseconds between sweeps. */
  readonly interval: number;
  /** Message of the error when no entry is idle. @param count number of busy entries */
  readonly overloaded: (count: number) => string;
  /** Called after each sweep, with the entries that it leaves. */
  readonly onSweep?: (left: Iterable<Entry>) => void;
}

export function createIdlePool<Entry extends PoolEntry>(options: IdlePoolOptions<Entry>) {
  const { limits, interval } = options;
  const entries = new Map<string, Entry>();
  let timer: NodeJS.Timeout | undefined;

  return {
    get: (key: string): Entry | undefined => entries.get(key),
    /**
     * Adds an entry, and at a limit closes the least recently used idle one: the user's own first, so no user closes the
     * sessions of all others.
     * @param create called when there is space
     * @throws BackendError `overloaded` when no entry is idle
     */
    add(key: string, user: string, create: () => Entry): Entry {
      evictIdle((entry) => entry.user === user, limits.perUser);
      evictIdle(() => true, limits.entries);
      const entry = create();
      entries.set(key, entry);
      timer ??= setInterval(sweep, interval).unref();
      return entry;
    },
    /** Removes an entry without closing it; does nothing if its key belongs to another. */
    remove(key: string, entry: Entry): void {
      if (entries.get(key) === entry) entries.delete(key);
    },
    end,
    async close(): Promise<void> {
      clearInterval(timer);
      await Promise.all([...entries.keys()].map(end));
    },
  };

  async function end(key: string): Promise<void> {
    const entry = entries.get(key);
    entries.delete(key);
    await entry?.close();
  }

  function evictIdle(isCounted: (entry: Entry) => boolean, limit: number): void {
    const counted = [...entries].filter(([, entry]) => isCounted(entry));
    if (counted.length < limit) return;
    const idle = counted.filter(([, entry]) => !entry.isBusy());
    const [oldest] = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined) throw new BackendError('overloaded', options.overloaded(counted.length));
    void end(oldest[0]);
  }

  function sweep(): void {
    const now = performance.now();
    for (const [key, entry] of entries)
      if (!entry.isBusy() && now - entry.usedAt >= limits.idle) void end(key);
    if (entries.size === 0) {
      clearInterval(timer);
      timer = undefined;
    } else options.onSweep?.(entries.values());
  }
}
