/** The part of a process in a server of several processes: it reports to the one that started it, which instructs it. */
import type { ProcessContext } from '../../process-context.ts';
import type { StopSignal } from '../stop-signal.ts';
import { type Instruction, type ProcessReport, SLOT_VARIABLE, type Slot, type Started } from './messages.ts';

/** How a process of several differs from one that serves alone. */
export interface Membership {
  readonly slot: Slot;
  /** Resolves when this process shall stop. */
  readonly stopped: Promise<StopSignal>;
  /** Resolves when another one serves in its place. */
  readonly retired: Promise<'retired'>;
  /** It accepts connections. @param started from the first process */
  reportReady(started: Started | null): void;
  /**
   * Resolves when no connection is on its way to this process. One that arrives after it has stopped listening goes to another process,
   * but one that it never read would be reset when it ends.
   */
  leave(): Promise<void>;
  /** Shows the metrics of this process to all. @returns reads those of all */
  shareMetrics(own: () => string): () => Promise<string>;
}

/** Takes the place out of the environment: no setting, and nothing for the processes that this one starts. */
export function takeSlot(processContext: ProcessContext): {
  readonly membership: Membership | null;
  readonly processContext: ProcessContext;
} {
  const { [SLOT_VARIABLE]: slot, ...environment } = processContext.environment;
  delete process.env[SLOT_VARIABLE];
  const isMember = slot !== undefined && process.send !== undefined;
  return {
    membership: isMember ? join(JSON.parse(slot) as Slot) : null,
    processContext: { ...processContext, environment },
  };
}

function join(slot: Slot): Membership {
  const stopped = Promise.withResolvers<StopSignal>();
  const retired = Promise.withResolvers<'retired'>();
  const released = Promise.withResolvers<void>();
  const asked = new Map<number, (text: string) => void>();
  let readMetrics = () => '';
  let lastId = 0;
  const report = (message: ProcessReport) => process.send?.(message);

  process.on('message', (message: Instruction) => {
    switch (message.type) {
      case 'stop':
        return stopped.resolve(message.signal);
      case 'retire':
        return retired.resolve('retired');
      case 'released':
        return released.resolve();
      case 'metrics wanted':
        return report({ type: 'metrics', id: message.id, text: readMetrics() });
      case 'metrics':
        asked.get(message.id)?.(message.text);
        asked.delete(message.id);
    }
  });
  // A terminal and some supervisors signal each process of a group. The one that started this one decides, and outlives it.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

  return {
    slot,
    stopped: stopped.promise,
    retired: retired.promise,
    reportReady: (started) => report({ type: 'ready', started }),
    leave() {
      report({ type: 'retired' });
      return released.promise;
    },
    shareMetrics(own) {
      readMetrics = own;
      return () => {
        lastId += 1;
        const { promise, resolve } = Promise.withResolvers<string>();
        asked.set(lastId, resolve);
        report({ type: 'metrics wanted', id: lastId });
        return promise;
      };
    },
  };
}
