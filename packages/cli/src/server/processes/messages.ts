/** What the processes of one server say to each other. */
import type { Worker } from 'node:cluster';
import type { RunningServer } from '../run-file.ts';

/** The variable by which a process knows its place among several; it holds a `Place` as JSON. */
export const SLOT_VARIABLE = 'PORTCULLIS_PLACE';

/** The place of a process among several. */
export interface Slot {
  /** From 1; its successor after a restart or a crash has the same. */
  readonly number: number;
  /** The port to listen on, also where the settings say 0. */
  readonly port: number;
  /** The first process of all checks the addresses and writes the banner. */
  readonly isFirst: boolean;
}

/** What the first process found out. */
export interface Started {
  readonly banner: string;
  /** For the run file. */
  readonly running: RunningServer;
}

/** From a process to the one that started it. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly started: Started | null }
  /** It has stopped listening, and would end. */
  | { readonly type: 'retired' }
  | { readonly type: 'metrics wanted'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly text: string };

/** To a process from the one that started it. */
export type Instruction =
  /** As after this signal; `null`: as when npm has exited. */
  | { readonly type: 'stop'; readonly signal: 'SIGTERM' | 'SIGINT' | null }
  /** Its successor serves: no new connections, until the open ones are closed. */
  | { readonly type: 'retire' }
  /** Every connection meant for it has been passed: it may end. */
  | { readonly type: 'released' }
  | { readonly type: 'metrics wanted'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly text: string };

/** Sends an instruction, unless the process has ended. */
export function instruct(worker: Worker, instruction: Instruction): void {
  if (worker.isConnected()) worker.send(instruction);
}
