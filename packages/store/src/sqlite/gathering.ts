/** When a batch is complete: nobody came for a while, or the first has waited long enough. */

/** Turns of the event loop in which nobody comes, after which nobody is waited for. */
const QUIET_TURNS = 2;
/** Milliseconds for which the first of a batch waits for others at most. */
const LONGEST_WAIT = 2;

/**
 * Begins to gather: looks, turn after turn of the event loop, how many have come.
 * @param count how many there are
 * @param complete is called once, when the batch is complete
 */
export function createGathering(count: () => number, complete: () => void): () => void {
  let since = 0;
  let seen = 0;
  let quiet = 0;

  function look(): void {
    const present = count();
    quiet = present > seen ? 0 : quiet + 1;
    seen = present;
    if (quiet >= QUIET_TURNS || performance.now() - since >= LONGEST_WAIT) complete();
    else setImmediate(look);
  }

  return () => {
    since = performance.now();
    seen = 0;
    quiet = 0;
    setImmediate(look);
  };
}
