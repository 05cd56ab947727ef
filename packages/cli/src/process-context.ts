/** The parts of the process that commands use. */
import type { Streams } from './terminal/terminal.ts';

export interface ProcessContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory: base of relative paths. */
  readonly folder: string;
  readonly streams: Streams;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Writes a one-line warning or error to standard error. */
  readonly complain: (line: string) => void;
  /** Whether output goes to a terminal with colours. */
  readonly styled: boolean;
  readonly version: string;
  /** How to run this program again. */
  readonly command: string;
}
