/** The wish to stop: the first signal asks, the second insists. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/** Milliseconds between two looks at the parent process. */
const LOOK = 250;

/** Resolves at the first SIGTERM or SIGINT, or when npm has gone; a second signal ends the process on the spot. */
export function untilStopSignal(environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(128 + NUMBERS[signal]);
        asked = true;
        resolve();
      });
    }
    if (environment['npm_lifecycle_event'] !== undefined) watchParent(resolve);
  });
}

/**
 * `npm start` puts a shell between itself and this process, and passes a signal on to that shell alone, which dies of it
 * without a word: all there is to notice is that the parent is another one.
 */
function watchParent(resolve: () => void): void {
  const { ppid } = process;
  const watch = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(watch);
    resolve();
  }, LOOK);
  watch.unref();
}
