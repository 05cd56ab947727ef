/**
 * Simulates flows that arrive at random at several processes that share a PostgreSQL: event loops that each do one thing at a time,
 * batches of statements, cores of the database, and flushes to its disk that commits share. All times are microseconds.
 */
import { createCores, createDisk, createRandom, createTime } from './discrete-events.ts';

/** Processor time of a flow, from `bench/scale.ts --check`. */
export interface Costs {
  /** In its process, without its batches. */
  readonly own: number;
  /** A batch in its process: sending, waking up, reading. */
  readonly ownBatch: number;
  /** In PostgreSQL, its statements and its events, without its batches. */
  readonly database: number;
  /** A batch in PostgreSQL. */
  readonly databaseBatch: number;
  /** What a flow waits for, one after another. */
  readonly waits: readonly ('read' | 'write' | 'backend')[];
}

export interface Arriving {
  readonly costs: Costs;
  /** At all processes together. */
  readonly perSecond: number;
}

export interface Deployment {
  /** A core for each. */
  readonly processes: number;
  readonly databaseCores: number;
  readonly flush: number;
  /** Between a process and the database, there and back. */
  readonly network: number;
  /** Until the server behind the gateway responds. */
  readonly backend: number;
}

export interface Prediction {
  /** Microseconds of processor time for one flow. */
  readonly own: number;
  readonly database: number;
  readonly batches: number;
  /** Milliseconds that half of the flows take at most. */
  readonly p50: number;
  /** Shares of the time in which a process, and a core of the database, is busy. */
  readonly use: { readonly processes: number; readonly database: number };
}

/** As in packages/store/src/postgres/batches.ts. */
const FEW = 2;
const LARGEST = 100;

/** @param seconds simulated */
export function simulate(
  flows: readonly Arriving[],
  { processes, databaseCores, flush, network, backend }: Deployment,
  seconds = 1,
): Prediction {
  const time = createTime();
  const database = createCores(time, databaseCores);
  const disk = createDisk(time, flush);
  const random = createRandom();
  const loops = Array.from({ length: processes }, () => createCores(time, 1));
  const batchers = loops.map((loop) => ({
    read: createBatcher(loop, false),
    write: createBatcher(loop, true),
  }));
  const durations: number[] = [];
  let batches = 0;
  const end = seconds * 1e6;
  for (const { costs, perSecond } of flows) {
    const arrive = (): void => {
      begin(costs, Math.floor(random() * processes));
      time.after(waitOf(perSecond), arrive);
    };
    if (perSecond > 0) time.after(waitOf(perSecond), arrive);
  }
  time.run(end);

  durations.sort((one, other) => one - other);
  const own = loops.reduce((sum, loop) => sum + loop.busy(), 0);
  return {
    own: own / durations.length,
    database: database.busy() / durations.length,
    batches: batches / durations.length,
    p50: (durations[durations.length >> 1] ?? Number.NaN) / 1000,
    use: { processes: own / processes / end, database: database.busy() / databaseCores / end },
  };

  function waitOf(perSecond: number): number {
    return (-Math.log(1 - random()) * 1e6) / perSecond;
  }

  function begin({ waits, ...costs }: Costs, index: number): void {
    const began = time.now();
    const trips = waits.filter((kind) => kind !== 'backend').length;
    const step = (number: number): void =>
      loops[index]?.take(costs.own / (waits.length + 1), () => {
        const kind = waits[number];
        const proceed = () => step(number + 1);
        if (kind === undefined) durations.push(time.now() - began);
        else if (kind === 'backend') time.after(backend, proceed);
        else batchers[index]?.[kind]({ costs, work: costs.database / trips, done: proceed });
      });
    step(0);
  }

  function createBatcher(loop: ReturnType<typeof createCores>, writes: boolean) {
    type Statement = {
      readonly costs: Omit<Costs, 'waits'>;
      readonly work: number;
      readonly done: () => void;
    };
    let waiting: Statement[] = [];
    let underWay = 0;
    let isScheduled = false;
    const send = (): void => {
      isScheduled = false;
      const [first] = waiting;
      if (first === undefined || underWay >= FEW) return;
      const batch = waiting.slice(0, LARGEST);
      waiting = waiting.slice(LARGEST);
      underWay += 1;
      batches += 1;
      const work = batch.reduce((sum, one) => sum + one.work, first.costs.databaseBatch);
      const finish = () => {
        underWay -= 1;
        for (const { done } of batch) done();
        schedule();
      };
      loop.take(first.costs.ownBatch, () =>
        time.after(network, () => database.take(work, () => (writes ? disk.flush(finish) : finish()))),
      );
      schedule();
    };
    // At the end of the turn of the event loop: after what waits there now.
    const schedule = (): void => {
      if (isScheduled || waiting.length === 0) return;
      isScheduled = true;
      loop.take(0, send);
    };
    return (statement: Statement): void => {
      waiting.push(statement);
      schedule();
    };
  }
}
