/** Waits longer and longer between starts of a process that fails. */
import { BackendError } from '../backend.ts';

export interface RestartBackoff {
  /** Waits until the next start, if that is soon. @throws BackendError `unavailable` if it is not */
  wait(name: string): Promise<void>;
  failed(): void;
}

/** Milliseconds. */
const FIRST = 500;
const LAST = 30_000;
const PATIENCE = 1500;

export function createRestartBackoff(): RestartBackoff {
  let failures = 0;
  let nextAt = 0;
  return {
    async wait(name) {
      const delay = nextAt - performance.now();
      if (delay <= 0) return;
      if (delay > PATIENCE) {
        const seconds = Math.ceil(delay / 1000);
        throw new BackendError(
          'unavailable',
          `${name} failed to start and is started again in ${seconds} s.`,
          seconds,
        );
      }
      await new Promise((done) => setTimeout(done, delay));
    },
    failed() {
      nextAt = performance.now() + Math.min(LAST, FIRST * 2 ** failures);
      failures += 1;
    },
  };
}
