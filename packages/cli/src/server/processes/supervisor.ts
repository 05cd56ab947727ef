/** Runs a server as several processes that share its port: starts them, replaces those that end, and restarts them one after another. */
import cluster, { type Worker } from 'node:cluster';
import { isSea } from 'node:sea';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import type { StopSignal } from '../stop-signal.ts';
import { collectMetrics } from './merge-metrics.ts';
import { instruct, type ProcessReport, SLOT_VARIABLE, type Slot, type Started } from './messages.ts';

/** Milliseconds: a process that exits earlier counts as failed, and its successor starts with a delay. */
const STABLE = 60_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

interface Member {
  readonly worker: Worker;
  readonly startedAt: number;
  /** Resolves when it serves, or has exited before. */
  readonly ready: Promise<{ readonly started: Started | null } | { readonly code: number }>;
  isReady: boolean;
}

/** What the first process reports; `null` and its exit code if it exited instead. */
type FirstReport = { readonly started: Started } | { readonly started: null; readonly code: number };

/**
 * This process owns the listening socket and distributes connections round-robin: with one socket per process
 * (`SO_REUSEPORT`), connections queued for a process would be lost with it.
 */
export function createSupervisor(count: number, port: number, log: Log) {
  // A single executable's arguments do not include its own path, so `fork` would pass it as the command.
  if (isSea()) cluster.setupPrimary({ exec: process.argv[2] ?? '', args: process.argv.slice(3) });
  /** All running processes, including those about to exit. */
  const running = new Set<Member>();
  /** The process in each slot, by number. */
  const slots = new Map<number, Member>();
  const at = createStartQueues();
  const pauses = createPauses();
  const collected = collectMetrics(() => [...slots].filter(([, { isReady }]) => isReady));
  let isStopping = false;
  let restarting: Promise<void> = Promise.resolve();

  function launch(number: number, isFirst = false): Member {
    const slot: Slot = { number, port, isFirst };
    const worker = cluster.fork({ [SLOT_VARIABLE]: JSON.stringify(slot) });
    const ready = Promise.withResolvers<Awaited<Member['ready']>>();
    const member: Member = { worker, startedAt: performance.now(), ready: ready.promise, isReady: false };
    running.add(member);
    // Emitted for an instruction to a process that has just exited.
    worker.on('error', () => {});
    closeLostConnection(worker);
    worker.on('message', (report: ProcessReport) => {
      // Messages are ordered: this one arrives after the last connection, and after its socket was released here.
      if (report.type === 'retired') return instruct(worker, { type: 'released' });
      if (report.type === 'metrics wanted') return collected.ask(worker, report.id);
      if (report.type === 'metrics') return collected.add(report.id, number, report.families);
      member.isReady = true;
      log({ type: 'process.started', process: number, pid: worker.process.pid });
      ready.resolve({ started: report.started });
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      running.delete(member);
      ready.resolve({ code: code ?? 1 });
      if (isStopping || slots.get(number) !== member) return;
      log({ type: 'process.ended', process: number, pid: worker.process.pid, code, signal });
      void at(number, () => replaceEnded(number, member));
    });
    return member;
  }

  /** Retries until a replacement is ready: the failure may be transient. */
  async function replaceEnded(number: number, ended: Member): Promise<void> {
    let last = ended;
    while (!isStopping && slots.get(number) === last) {
      await pauses.beforeRestart(number, last.startedAt);
      if (isStopping) return;
      last = launch(number);
      slots.set(number, last);
      if ('started' in (await last.ready)) return;
    }
  }

  /** @returns whether the new process serves; otherwise the old one continues */
  async function replaceRunning(number: number): Promise<boolean> {
    if (isStopping) return false;
    const before = slots.get(number);
    const next = launch(number);
    if ('code' in (await next.ready)) return false;
    slots.set(number, next);
    if (before !== undefined) instruct(before.worker, { type: 'retire' });
    return true;
  }

  async function restartAll(): Promise<void> {
    for (const number of [...slots.keys()]) {
      if (await at(number, () => replaceRunning(number))) continue;
      if (!isStopping) log({ type: 'processes.restart_failed', process: number });
      return;
    }
    log({ type: 'processes.restarted', count });
  }

  return {
    /** Starts all processes. */
    async start(): Promise<FirstReport> {
      const first = launch(1, true);
      const outcome = await first.ready;
      if ('code' in outcome || outcome.started === null)
        return { started: null, code: 'code' in outcome ? outcome.code : 1 };
      slots.set(1, first);
      for (let number = 2; number <= count; number += 1) slots.set(number, launch(number));
      await Promise.all([...slots.values()].map(({ ready }) => ready));
      return { started: outcome.started };
    },
    /** Replaces each process without downtime: the new one serves before the old one stops accepting. */
    restart(): Promise<void> {
      restarting = restarting.then(restartAll);
      return restarting;
    },
    /** Resolves when all processes have exited. */
    stop(signal: StopSignal, limit: number): Promise<void> {
      isStopping = true;
      return stopAll(running, signal, limit);
    },
  };
}

/** Longer pauses between the starts of a process that fails again and again. */
function createPauses() {
  const failures = new Map<number, number>();
  return {
    /** @param startedAt of the process that ended */
    async beforeRestart(number: number, startedAt: number): Promise<void> {
      const failed = performance.now() - startedAt < STABLE ? (failures.get(number) ?? 0) + 1 : 0;
      failures.set(number, failed);
      if (failed > 1) await sleep(Math.min(FIRST_PAUSE * 2 ** (failed - 2), LONGEST_PAUSE));
    },
  };
}

/** Serializes the starts of processes in the same slot. */
function createStartQueues(): <T>(number: number, start: () => Promise<T>) => Promise<T> {
  const queues = new Map<number, Promise<unknown>>();
  return (number, start) => {
    const next = (queues.get(number) ?? Promise.resolve()).then(start);
    queues.set(number, next);
    return next;
  };
}

/** Stops processes, and kills those still running after the limit. @param limit milliseconds */
async function stopAll(running: ReadonlySet<Member>, signal: StopSignal, limit: number): Promise<void> {
  const ends = [...running].map(({ worker }) => new Promise((resolve) => worker.once('exit', resolve)));
  for (const { worker } of running) instruct(worker, { type: 'stop', signal });
  const last = setTimeout(() => {
    for (const { worker } of running) worker.process.kill('SIGKILL');
  }, limit);
  await Promise.all(ends);
  clearTimeout(last);
}

/** Closes the connection in transfer when a process exits: Node leaves it open, and its client would wait forever. One is transferred at a time. */
function closeLostConnection({ process: child }: Worker): void {
  let last: { close(): void } | null = null;
  const send = child.send.bind(child) as (...values: readonly unknown[]) => boolean;
  child.send = (...values: readonly unknown[]) => {
    const [, handle] = values;
    if (typeof handle === 'object' && handle !== null && 'close' in handle) last = handle as typeof last;
    return send(...values);
  };
  child.once('exit', () => last?.close());
}
