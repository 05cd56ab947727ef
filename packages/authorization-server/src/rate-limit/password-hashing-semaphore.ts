/** Turns at something expensive: a few run, those who are known go first, and what is left is shared fairly by network. */
import { temporarilyUnavailable } from '@portcullis/protocol';

/** Whose turn it is. */
export interface HashRequester {
  /** Whether the server has reason to believe that it is who it says. */
  readonly isKnown: boolean;
  /** Who shares places: the account of those who are known, the network of the others. */
  readonly fairnessKey: string;
}

export interface PasswordHashingSemaphore {
  /**
   * Runs the task when its turn comes.
   * @throws OAuthError `temporarily_unavailable` when too many wait already.
   */
  run<T>(asker: HashRequester, task: () => Promise<T>): Promise<T>;
}

/** Those who are known go first, but every fourth turn is a stranger's: a busy morning lets strangers in as well. */
const KNOWN_IN_A_ROW = 3;

/**
 * @param running tasks at once
 * @param waiting how many of those who are known may wait, and how many of the others: neither take places of the other kind
 */
export function createPasswordHashingSemaphore(running: number, waiting: number): PasswordHashingSemaphore {
  const known = createQueue(waiting);
  const strangers = createQueue(waiting);
  let free = running;
  let inARow = 0;

  const enter = async ({ isKnown, fairnessKey: party }: HashRequester): Promise<void> => {
    if (free === 0) return (isKnown ? known : strangers).wait(party);
    free--;
  };
  const takeKnown = () => {
    const next = known.take();
    if (next !== undefined) inARow++;
    return next;
  };
  const takeStranger = () => {
    inARow = 0;
    return strangers.take();
  };
  /** Hands the turn on, or gives it back. */
  const leave = () => {
    const mayGoFirst = inARow < KNOWN_IN_A_ROW;
    const next = mayGoFirst ? (takeKnown() ?? takeStranger()) : (takeStranger() ?? takeKnown());
    if (next === undefined) free++;
    else next.begin();
  };
  return {
    async run(asker, task) {
      await enter(asker);
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
}

interface Waiter {
  begin(): void;
  giveUp(reason: unknown): void;
}

/** A queue of parties, which take turns. */
interface Queue {
  /** @throws OAuthError `temporarily_unavailable` at once, or later when somebody of a smaller party comes */
  wait(party: string): Promise<void>;
  /** Whoever is next. */
  take(): Waiter | undefined;
}

/**
 * A party may have all places while nobody else wants one. Whoever comes then gets the place of the last of the largest party,
 * as long as that one has more than the newcomer's: so no party holds more than its part against others.
 */
function createQueue(places: number): Queue {
  /** In the order of their turns. None is empty. */
  const parties = new Map<string, Waiter[]>();
  let waiting = 0;

  const makeRoomFor = (own: number) => {
    const largest = [...parties.values()].reduce(
      (one, other) => (other.length > one.length ? other : one),
      [],
    );
    if (largest.length <= own + 1) throw tooManyWait();
    // Whoever came last has waited least.
    largest.pop()?.giveUp(tooManyWait());
    waiting--;
  };
  return {
    async wait(party) {
      const own = parties.get(party) ?? [];
      if (waiting >= places) makeRoomFor(own.length);
      waiting++;
      parties.set(party, own);
      return new Promise((begin, giveUp) => own.push({ begin, giveUp }));
    },
    take() {
      const [first] = parties;
      if (first === undefined) return undefined;
      const [party, waiters] = first;
      const next = waiters.shift();
      waiting--;
      parties.delete(party);
      if (waiters.length > 0) parties.set(party, waiters);
      return next;
    },
  };
}

function tooManyWait(): Error {
  return temporarilyUnavailable('too many wait for a turn', 2);
}
