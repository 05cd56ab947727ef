/** Messages between the processes of one server. */
import type { Worker } from 'node:cluster';
import type { Family } from '../metrics/prometheus-exposition.ts';
import type { RunningServer } from '../run-file.ts';

/** The environment variable that contains the `Slot` of a process as JSON. */
export const SLOT_VARIABLE = 'PORTCULLIS_SLOT';

/** The slot of a process in a multi-process server. */
export interface Slot {
  /** Starts at 1; a successor after a restart or a crash has the same number. */
  readonly number: number;
  /** The port to listen on, even if the setting is 0. */
  readonly port: number;
  /** The first process of all checks the addresses and writes the banner. */
  readonly isFirst: boolean;
}

/** The report of the first process. */
export interface Started {
  readonly banner: string;
  /** For the run file. */
  readonly running: RunningServer;
}

/** From a worker process to the supervisor. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly started: Started | null }
  /** It has stopped listening and is ready to exit. */
  | { readonly type: 'retired' }
  | { readonly type: 'metrics wanted'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly families: readonly Family[] };

/** From the supervisor to a worker process. */
export type Instruction =
  /** The signal to act on; `null`: npm has exited. */
  | { readonly type: 'stop'; readonly signal: 'SIGTERM' | 'SIGINT' | null }
  /** Its successor serves: no new connections, until the open ones are closed. */
  | { readonly type: 'retire' }
  /** All its connections have been transferred: it may exit. */
  | { readonly type: 'released' }
  | { readonly type: 'metrics wanted'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly families: readonly Family[] };

/** Sends an instruction, unless the process has ended. */
export function instruct(worker: Worker, instruction: Instruction): void {
  if (worker.isConnected()) worker.send(instruction);
}
