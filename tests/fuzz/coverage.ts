/** Which ways through the code an input takes: counted by probes that `instrument.ts` puts at every branch. */

/** Edges are numbered by hash; of two that share a number, one is not seen. */
const SIZE = 1 << 18;

const hits = new Uint16Array(SIZE);
/** For each edge, the orders of magnitude in which a target was seen to pass it, as bits. */
const known = new Uint8Array(SIZE);
const everPassed = new Set<number>();
const passed: number[] = [];
let previous = 0;

function probe(place: number): void {
  const edge = (place ^ previous) & (SIZE - 1);
  previous = place >>> 1;
  const count = hits[edge] ?? 0;
  if (count === 0) passed.push(edge);
  if (count < 0xffff) hits[edge] = count + 1;
}

Object.assign(globalThis, { __probe: probe });

/** Another target: what is old for one is new for the next. */
export function beginTarget(): void {
  known.fill(0);
}

/** Forgets what was passed since the last call. */
export function beginRun(): void {
  for (const edge of passed) hits[edge] = 0;
  passed.length = 0;
  previous = 0;
}

/** Whether anything was passed, or passed so often, for the first time. */
export function endRun(): boolean {
  let isNew = false;
  for (const edge of passed) {
    const size = 1 << Math.min(7, 31 - Math.clz32(hits[edge] ?? 1));
    if (((known[edge] ?? 0) & size) !== 0) continue;
    known[edge] = (known[edge] ?? 0) | size;
    everPassed.add(edge);
    isNew = true;
  }
  return isNew;
}

/** Edges that the target passed, and that any did. */
export function countEdges(): { readonly here: number; readonly inAll: number } {
  const here = known.reduce((count, sizes) => count + (sizes === 0 ? 0 : 1), 0);
  return { here, inAll: everPassed.size };
}
