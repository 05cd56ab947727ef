/**
 * Simulates requests at several processes that share a PostgreSQL: event loops that each do one thing at a time, batches of
 * statements, cores of the database, and flushes to its disk that commits share.
 */

/** Microseconds, from `npm run bench -- costs`. */
export interface Costs {
  /** A flow in its process, without its batches. */
  readonly flow: number;
  /** A batch in its process: sending, waking up, reading. */
  readonly ownBatch: number;
  /** A batch in PostgreSQL, without its statements. */
  readonly batch: number;
  /** A statement in PostgreSQL. */
  readonly statement: number;
  /** The round trips of a flow one after another: how many statements each has, and whether it writes. */
  readonly trips: readonly { readonly statements: number; readonly writes: boolean }[];
}

export interface Deployment {
  readonly processes: number;
  /** Connections with one pending request each, at each process. */
  readonly clients: number;
  readonly databaseCores: number;
  /** Cores of the processes; with `isShared` the database runs on these as well. */
  readonly processCores: number;
  readonly isShared: boolean;
  /** Microseconds. */
  readonly flush: number;
  /** Microseconds between a process and the database, there and back. */
  readonly network: number;
  /** Microseconds of the process's cores that the load itself takes for each flow. */
  readonly load: number;
}

export interface Prediction {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Shares of the time in which each is busy. */
  readonly use: { readonly processes: number; readonly database: number };
  /** `waiting`: neither is busy all the time, and more requests at once would be served. */
  readonly bottleneck: keyof Prediction['use'] | 'waiting';
  readonly statementsABatch: number;
}

/** As in packages/store/src/postgres/batches.ts. */
const FEW = 2;
const LARGEST = 100;

/** @param seconds simulated, after a tenth of it to start up */
export function simulate(costs: Costs, deployment: Deployment, seconds = 0.3): Prediction {
  const { processes, clients, flush, network, isShared } = deployment;
  const time = createTime();
  const processCores = createCores(time, deployment.processCores);
  const databaseCores = isShared ? processCores : createCores(time, deployment.databaseCores);
  const disk = createDisk(time, flush);
  const end = seconds * 1e6;
  const start = end / 10;
  const times: number[] = [];
  const counts = { batches: 0, statements: 0 };

  for (let index = 0; index < processes; index += 1) {
    const loop = createQueue(processCores);
    const batchers = [false, true].map((writes) => createBatcher(loop, writes));
    for (let client = 0; client < clients; client += 1) {
      const request = () => {
        const began = time.now();
        const share = costs.flow / (costs.trips.length + 1);
        const step = (trip: number) => {
          loop.add(share + (trip === 0 ? deployment.load : 0), () => {
            const next = costs.trips[trip];
            if (next !== undefined)
              return batchers[Number(next.writes)]?.(next.statements, () => step(trip + 1));
            if (time.now() > start) times.push(time.now() - began);
            request();
          });
        };
        step(0);
      };
      // Not all in the same moment.
      time.at(Math.random() * 1000, request);
    }
  }
  time.run(end);

  const busy = {
    processes: Math.max(processCores.busy() / deployment.processCores / end, 0),
    database: databaseCores.busy() / (isShared ? deployment.processCores : deployment.databaseCores) / end,
  };
  // An event loop has one core at most.
  const use = {
    ...busy,
    processes: isShared ? busy.processes : (busy.processes * deployment.processCores) / processes,
  };
  const [[name, most] = ['processes', 0] as const] = (
    Object.entries(use) as [keyof typeof use, number][]
  ).sort(([, one], [, other]) => other - one);
  times.sort((one, other) => one - other);
  return {
    perSecond: (times.length * 1e6) / (end - start),
    p50: (times[times.length >> 1] ?? 0) / 1000,
    p99: (times[Math.floor(times.length * 0.99)] ?? 0) / 1000,
    use,
    bottleneck: most > 0.85 ? name : 'waiting',
    statementsABatch: counts.statements / counts.batches,
  };

  function createBatcher(loop: Queue, writes: boolean) {
    let waiting: { statements: number; done: () => void }[] = [];
    let underWay = 0;
    let isScheduled = false;
    const send = () => {
      isScheduled = false;
      if (waiting.length === 0 || underWay >= FEW) return;
      const batch = waiting.slice(0, LARGEST);
      waiting = waiting.slice(LARGEST);
      underWay += 1;
      const statements = batch.reduce((sum, one) => sum + one.statements, 0);
      counts.batches += 1;
      counts.statements += statements;
      loop.add(costs.ownBatch, () =>
        time.after(network, () =>
          databaseCores.take(costs.batch + statements * costs.statement, () => {
            const answer = () => {
              underWay -= 1;
              for (const { done } of batch) done();
              schedule();
            };
            if (writes) disk.flush(answer);
            else answer();
          }),
        ),
      );
    };
    // At the end of the turn of the event loop: after what waits there now.
    const schedule = () => {
      if (isScheduled || waiting.length === 0) return;
      isScheduled = true;
      loop.add(0, send);
    };
    return (statements: number, done: () => void) => {
      waiting.push({ statements, done });
      schedule();
    };
  }
}

interface Time {
  now(): number;
  at(moment: number, call: () => void): void;
  after(delay: number, call: () => void): void;
  run(until: number): void;
}

/** Events in the order of their time: a binary heap. */
function createTime(): Time {
  const heap: { readonly at: number; readonly call: () => void }[] = [];
  let now = 0;
  const before = (one: number, other: number) => (heap[one]?.at ?? Infinity) < (heap[other]?.at ?? Infinity);
  const swap = (one: number, other: number) => {
    const [a, b] = [heap[one], heap[other]];
    if (a && b) [heap[one], heap[other]] = [b, a];
  };
  const time: Time = {
    now: () => now,
    after: (delay, call) => time.at(now + delay, call),
    at(moment, call) {
      heap.push({ at: moment, call });
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
  return time;
}

interface Cores {
  /** Works for so long on a core that is free. */
  take(cost: number, done: () => void): void;
  busy(): number;
}

function createCores(time: Time, count: number): Cores {
  const waiting: { readonly cost: number; readonly done: () => void }[] = [];
  let free = count;
  let busy = 0;
  let first = 0;
  const begin = (cost: number, done: () => void) => {
    free -= 1;
    busy += cost;
    time.after(cost, () => {
      free += 1;
      const next = waiting[first];
      if (next !== undefined) {
        first += 1;
        if (first > 10_000) {
          waiting.splice(0, first);
          first = 0;
        }
        begin(next.cost, next.done);
      }
      done();
    });
  };
  return {
    take: (cost, done) => (free > 0 ? begin(cost, done) : void waiting.push({ cost, done })),
    busy: () => busy,
  };
}

interface Queue {
  add(cost: number, done: () => void): void;
}

/** An event loop: one thing after another, each on a core. */
function createQueue(cores: Cores): Queue {
  let waiting: { readonly cost: number; readonly done: () => void }[] = [];
  let isBusy = false;
  const begin = ({ cost, done }: { readonly cost: number; readonly done: () => void }) => {
    isBusy = true;
    cores.take(cost, () => {
      done();
      const [next, ...rest] = waiting;
      waiting = rest;
      if (next === undefined) isBusy = false;
      else begin(next);
    });
  };
  return {
    add: (cost, done) => (isBusy ? void waiting.push({ cost, done }) : begin({ cost, done })),
  };
}

/** One flush at a time; those who wait meanwhile share the next one. */
function createDisk(time: Time, duration: number) {
  let waiting: (() => void)[] = [];
  let isBusy = false;
  const begin = () => {
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
    flush(done: () => void) {
      waiting.push(done);
      if (!isBusy) begin();
    },
  };
}
