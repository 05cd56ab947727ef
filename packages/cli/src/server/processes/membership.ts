/** The worker side of a multi-process server: reports to the supervisor and follows its instructions. */
import type { ProcessContext } from '../../process-context.ts';
import type { Family } from '../metrics/prometheus-exposition.ts';
import type { StopSignal } from '../stop-signal.ts';
import { type Instruction, type ProcessReport, SLOT_VARIABLE, type Slot, type Started } from './messages.ts';

/** The membership of a process in a multi-process server. */
export type Membership = ReturnType<typeof join>;

/** Removes the slot from the environment: it is not a setting, and child processes must not inherit it. */
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

function join(slot: Slot) {
  const stopped = Promise.withResolvers<StopSignal>();
  const retired = Promise.withResolvers<'retired'>();
  const released = Promise.withResolvers<void>();
  const pending = new Map<number, (families: readonly Family[]) => void>();
  let readMetrics: () => readonly Family[] = () => [];
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
        return report({ type: 'metrics', id: message.id, families: readMetrics() });
      case 'metrics':
        pending.get(message.id)?.(message.families);
        pending.delete(message.id);
    }
  });
  // Terminals and some supervisors signal the whole process group. The parent process decides, and outlives this one.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

  return {
    slot,
    /** Resolves when this process must stop. */
    stopped: stopped.promise,
    /** Resolves when its successor serves. */
    retired: retired.promise,
    /** Reports that this process accepts connections. @param started from the first process */
    reportReady: (started: Started | null) => void report({ type: 'ready', started }),
    /**
     * Resolves when no connection is in transfer to this process. Connections that arrive after it has stopped listening are
     * passed to another process, but unread ones would be reset at exit.
     */
    leave(): Promise<void> {
      report({ type: 'retired' });
      return released.promise;
    },
    /** Exports the metrics of this process. @returns a function that collects those of all processes */
    shareMetrics(own: () => readonly Family[]): () => Promise<readonly Family[]> {
      readMetrics = own;
      return () => {
        lastId += 1;
        const { promise, resolve } = Promise.withResolvers<readonly Family[]>();
        pending.set(lastId, resolve);
        report({ type: 'metrics wanted', id: lastId });
        return promise;
      };
    },
  };
}
