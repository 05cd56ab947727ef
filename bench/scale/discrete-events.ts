/** Discrete events: a clock, cores that work on one thing after another, and a disk whose flushes commits share. */

export interface Time {
  now(): number;
  after(delay: number, call: () => void): void;
  run(until: number): void;
}

/** Events in the order of their time: a binary heap. */
export function createTime(): Time {
  const heap: { readonly at: number; readonly call: () => void }[] = [];
  let now = 0;
  const before = (one: number, other: number) => (heap[one]?.at ?? Infinity) < (heap[other]?.at ?? Infinity);
  const swap = (one: number, other: number) => {
    const [a, b] = [heap[one], heap[other]];
    if (a && b) [heap[one], heap[other]] = [b, a];
  };
  return {
    now: () => now,
    after(delay, call) {
      heap.push({ at: now + delay, call });
      for (
        let index = heap.length - 1;
        index > 0 && before(index, (index - 1) >> 1);
        index = (index - 1) >> 1
      )
        swap(index, (index - 1) >> 1);
    },
    run(until) {
      for (let next = heap[0]; next !== undefined && next.at < until; next = heap[0]) {
        now = next.at;
        const last = heap.pop();
        if (last !== undefined && heap.length > 0) heap[0] = last;
        for (let index = 0; ; ) {
          const left = 2 * index + 1;
          const child = before(left + 1, left) ? left + 1 : left;
          if (!before(child, index)) break;
          swap(index, child);
          index = child;
        }
        next.call();
      }
    },
  };
}

export interface Cores {
  /** Works for so long on the first core that is free. */
  take(cost: number, done: () => void): void;
  /** How long they have worked so far. */
  busy(): number;
}

/** @param count one core is an event loop: one thing after another */
export function createCores(time: Time, count: number): Cores {
  let waiting: { readonly cost: number; readonly done: () => void }[] = [];
  let first = 0;
  let free = count;
  let busy = 0;
  const begin = (cost: number, done: () => void): void => {
    time.after(cost, () => {
      busy += cost;
      done();
      const next = waiting[first];
      if (next === undefined) {
        free += 1;
        return;
      }
      first += 1;
      if (first > 1000) {
        waiting = waiting.slice(first);
        first = 0;
      }
      begin(next.cost, next.done);
    });
  };
  return {
    take(cost, done) {
      if (free === 0) return void waiting.push({ cost, done });
      free -= 1;
      begin(cost, done);
    },
    busy: () => busy,
  };
}

/** One flush at a time; commits that wait meanwhile share the next one. */
export function createDisk(time: Time, duration: number): { flush(done: () => void): void } {
  let waiting: (() => void)[] = [];
  let isBusy = false;
  const begin = (): void => {
    isBusy = true;
    const served = waiting;
    waiting = [];
    time.after(duration, () => {
      isBusy = false;
      if (waiting.length > 0) begin();
      for (const done of served) done();
    });
  };
  return {
    flush(done) {
      waiting.push(done);
      if (!isBusy) begin();
    },
  };
}

/** The same numbers below 1 in each run. */
export function createRandom(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
