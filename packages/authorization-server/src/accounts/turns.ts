/** Turns at something expensive: a few run, a few more wait, the rest are sent away at once. */
import { unavailable } from '@portcullis/protocol';

export interface Turns {
  /**
   * Runs the task when its turn comes.
   * @throws OAuthError `temporarily_unavailable` when too many wait already.
   */
  take<T>(task: () => Promise<T>): Promise<T>;
}

export function createTurns(running: number, waiting: number): Turns {
  const queue: (() => void)[] = [];
  let free = running;

  const enter = (): Promise<void> | undefined => {
    if (free > 0) {
      free--;
      return undefined;
    }
    if (queue.length >= waiting) throw unavailable('too many wait for a turn', 2);
    return new Promise((resolve) => queue.push(resolve));
  };
  /** Hands the turn on, or gives it back. */
  const leave = () => {
    const next = queue.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async take(task) {
      await enter();
      try {
        return await task();
      } finally {
        leave();
      }
    },
  };
}
