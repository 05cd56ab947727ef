/** Pauses between acknowledgements: how long something was away. */

export interface Pauses {
  /** Something was acknowledged. */
  note(): void;
  /** @returns milliseconds of the longest pause since the last `take` */
  take(): number;
}

export function createPauses(now: () => number = () => performance.now()): Pauses {
  let last = now();
  let longest = 0;
  const note = () => {
    const pause = now() - last;
    last += pause;
    longest = Math.max(longest, pause);
  };
  return {
    note,
    take() {
      note();
      const taken = longest;
      longest = 0;
      return taken;
    },
  };
}
