/** The process context of commands. */
import type { Streams } from './terminal/terminal.ts';

/** How another program starts this one: the program and its first arguments. */
export type LaunchCommand = readonly [program: string, ...args: string[]];

export interface ProcessContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory: base of relative paths. */
  readonly folder: string;
  readonly streams: Streams;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Writes a one-line warning or error to standard error. */
  readonly complain: (line: string) => void;
  /** Whether the servers behind the gateway must answer before this one reports that it is ready. */
  readonly requiresBackends?: boolean;
  /** Whether the startup banner has every address. */
  readonly isVerbose?: boolean;
  /** Whether output goes to a terminal with colours. */
  readonly styled: boolean;
  readonly version: string;
  /** How a user runs this program again, from its folder. */
  readonly command: string;
  /** How another program starts it, from any folder and with nothing else on standard output. */
  readonly launch: LaunchCommand;
}
