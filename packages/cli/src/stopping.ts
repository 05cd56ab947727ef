/** The wish to stop: the first signal asks, the second insists. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process on the spot. */
export function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(128 + NUMBERS[signal]);
        asked = true;
        resolve();
      });
    }
  });
}
