/** Stop signals: the first one stops gracefully, the second one immediately. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/** Milliseconds between checks of the parent process. */
const POLL_INTERVAL = 250;

/** Why a program stops; `null`: npm, which ran it, has exited. */
export type StopSignal = (typeof SIGNALS)[number] | null;

/** Resolves at the first SIGTERM or SIGINT, or when npm has exited (`null`); a second signal exits immediately. */
export function untilStopSignal(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<StopSignal> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (isStopping) process.exit(128 + NUMBERS[signal]);
        isStopping = true;
        resolve(signal);
      });
    }
    if (environment['npm_lifecycle_event'] !== undefined) watchParent(() => resolve(null));
  });
}

/**
 * `npm start` runs this process in a shell and forwards signals to that shell only, which exits silently: the only trace is a
 * new parent process.
 */
function watchParent(resolve: () => void): void {
  const { ppid } = process;
  const watch = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(watch);
    resolve();
  }, POLL_INTERVAL);
  watch.unref();
}
