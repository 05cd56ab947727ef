/** What a command may touch of the process that it runs in. */
import type { Streams } from './terminal/terminal.ts';

export interface ProcessContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start from. */
  readonly folder: string;
  readonly streams: Streams;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Tells people that something is wrong, in one line. */
  readonly complain: (line: string) => void;
  /** Whether a terminal that shows colours is there to see it. */
  readonly styled: boolean;
  readonly version: string;
  /** How whoever started it calls it again. */
  readonly command: string;
}
