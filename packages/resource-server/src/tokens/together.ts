/** Heavy reckoning done together: what asks for it in one turn of the event loop is served one right after the other. */

/** No more in one turn, so that nobody waits for the whole of a flood. */
const MOST_IN_A_TURN = 64;

/** The real one, whatever a test makes of the clock later. */
const { setImmediate: afterThisTurn } = globalThis;

const waiting: (() => void)[] = [];

function serve(): void {
  for (const work of waiting.splice(0, MOST_IN_A_TURN)) work();
  if (waiting.length > 0) afterThisTurn(serve);
}

/**
 * Does work a moment later, after all that the same turn brings. Between other work the tables of a curve (150 KB) have left
 * the cache of the processor, and a signature costs half as much again: of many, all but the first find them there.
 */
export function together<Value>(work: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) afterThisTurn(serve);
    waiting.push(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
  });
}
