/** The semaphore of password hashing: a few hashes run at once, known users go first, and the queue is shared fairly. */
import { temporarilyUnavailable } from '@portcullis/protocol';

export interface HashRequester {
  /** Whether this user signed in before from this network or with this device, or has proven who they are. */
  readonly isKnown: boolean;
  /** The key of fair queueing: the account of known users, the site of the others. */
  readonly fairnessKey: string;
}

export interface PasswordHashingSemaphore {
  /** @throws OAuthError `temporarily_unavailable` when too many are waiting already */
  run<T>(requester: HashRequester, task: () => Promise<T>): Promise<T>;
}

/** Known users go first, but every fourth slot is for the others. */
const KNOWN_IN_A_ROW = 3;

/** @param waiting length of the queue of known users, and of the separate queue of the others */
export function createPasswordHashingSemaphore(
  slots: Readonly<Record<'running' | 'waiting', number>>,
): PasswordHashingSemaphore {
  const { running, waiting } = slots;
  const known = createFairQueue(waiting);
  const unknown = createFairQueue(waiting);
  let free = running;
  let knownInARow = 0;

  /** Passes the slot to the next waiter, or frees it. */
  const release = () => {
    const queues = knownInARow < KNOWN_IN_A_ROW ? [known, unknown] : [unknown, known];
    const queue = queues.find(({ isEmpty }) => !isEmpty());
    knownInARow = queue === known ? knownInARow + 1 : 0;
    if (queue === undefined) free++;
    else queue.startNext();
  };
  return {
    async run({ isKnown, fairnessKey }, task) {
      if (free > 0) free--;
      else await (isKnown ? known : unknown).wait(fairnessKey);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}

/**
 * A queue that alternates between keys. A key may fill it while no other key waits. A newcomer then replaces the last
 * waiter of the key that has most, if that one has more than the newcomer's key.
 */
function createFairQueue(slots: number) {
  /** Keys in the order in which they are served. No list is empty. */
  const waiters = new Map<string, PromiseWithResolvers<void>[]>();
  let size = 0;

  const evictFor = (own: number) => {
    const largest = [...waiters.values()].reduce(
      (one, other) => (other.length > one.length ? other : one),
      [],
    );
    if (largest.length <= own + 1) throw queueFull();
    largest.pop()?.reject(queueFull());
    size--;
  };
  return {
    isEmpty: (): boolean => size === 0,
    /** @throws OAuthError `temporarily_unavailable` at once, or later when it is evicted for a key with fewer waiters */
    async wait(key: string): Promise<void> {
      const own = waiters.get(key) ?? [];
      if (size >= slots) evictFor(own.length);
      const waiter = Promise.withResolvers<void>();
      own.push(waiter);
      waiters.set(key, own);
      size++;
      return waiter.promise;
    },
    startNext(): void {
      const [[key, own] = ['', []]] = waiters;
      waiters.delete(key);
      // A key with more waiters goes to the end of the queue.
      const next = own.shift();
      if (own.length > 0) waiters.set(key, own);
      size--;
      next?.resolve();
    },
  };
}

function queueFull(): Error {
  return temporarilyUnavailable('too many passwords are waiting to be hashed', 2);
}
